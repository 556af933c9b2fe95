#include "sched/waiting_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "support/seed.h"

namespace weir {
namespace {

using testing::ElementsAre;
using Verdict = WaitingQueue::Verdict;

// Ids count up with arrival.
class Line {
 public:
  explicit Line(QueuePolicy policy = QueuePolicy::kBuckets) : queue(LengthBuckets(), policy) {}

  uint64_t Arrive(uint32_t length, uint64_t work = 0) {
    ++last_;
    queue.Add({.id = RequestId(last_),
               .arrival = last_,
               .length = length,
               .work = work == 0 ? length : work});
    return last_;
  }
  // 0: nobody.
  uint64_t Next(const std::function<Verdict(uint64_t)>& offer = [](uint64_t) {
    return Verdict::kTake;
  }) {
    const auto taken =
        queue.Pick([&](const WaitingRequest& request) { return offer(request.id.value()); });
    return taken ? taken->id.value() : 0;
  }

  WaitingQueue queue;

 private:
  uint64_t last_ = 0;
};

TEST(WaitingQueue, InsideABucketTheLeastWorkGoesFirstThenTheFirstToArrive) {
  Line line;
  line.Arrive(100, 300);  // 1
  line.Arrive(3000, 90);  // 2
  line.Arrive(200, 90);   // 3
  EXPECT_EQ(line.Next(), 2U);
  EXPECT_EQ(line.Next(), 3U);
  EXPECT_EQ(line.Next(), 1U);
  EXPECT_EQ(line.Next(), 0U);
  EXPECT_TRUE(line.queue.empty());
}

TEST(WaitingQueue, BucketsTakeTurnsByWeight) {
  // Weights 8, 4, 2, 1: in 15 turns so many from each bucket.
  Line line;
  std::vector<uint32_t> bucket_of(1);
  for (int i = 0; i < 20; ++i) {
    for (const uint32_t length : {100U, 5000U, 20'000U, 70'000U}) {
      line.Arrive(length);
      bucket_of.push_back(LengthBuckets().IndexOf(length));
    }
  }
  std::vector<uint32_t> counts(4, 0);
  for (int turn = 0; turn < 15; ++turn) ++counts[bucket_of[line.Next()]];
  EXPECT_THAT(counts, ElementsAre(8, 4, 2, 1));
}

TEST(WaitingQueue, ALoneBucketDoesNotOweTurnsLater) {
  Line line;
  for (int i = 0; i < 12; ++i) line.Arrive(70'000);
  for (int i = 0; i < 10; ++i) EXPECT_NE(line.Next(), 0U);
  const uint64_t shorter = line.Arrive(10);
  EXPECT_EQ(line.Next(), shorter);
}

TEST(WaitingQueue, FifoServesInOrderAndNothingPassesWhatFindsNoRoom) {
  Line line(QueuePolicy::kFifo);
  line.Arrive(70'000);
  line.Arrive(10);
  EXPECT_EQ(line.Next([](uint64_t id) { return id == 1 ? Verdict::kNoRoom : Verdict::kTake; }), 0U);
  EXPECT_EQ(line.Next([](uint64_t id) { return id == 1 ? Verdict::kPass : Verdict::kTake; }), 2U);
  EXPECT_EQ(line.Next(), 1U);
}

TEST(WaitingQueue, ARequestWithoutRoomIsPassedBySoManyLaterOnesAndThenByNone) {
  Line line;
  const uint64_t large = line.Arrive(50'000);
  const auto no_room_for_it = [&](uint64_t id) {
    return id == large ? Verdict::kNoRoom : Verdict::kTake;
  };
  for (uint32_t i = 0; i < WaitingQueue::kMostPassing; ++i) {
    const uint64_t small = line.Arrive(10);
    EXPECT_EQ(line.Next(no_room_for_it), small);
  }
  const uint64_t small = line.Arrive(10);
  EXPECT_EQ(line.Next(no_room_for_it), 0U);
  EXPECT_EQ(line.Next(), large);
  EXPECT_EQ(line.Next(), small);
}

TEST(WaitingQueue, WhoWaitsForAnotherHoldsUpNobody) {
  Line line;
  const uint64_t waits = line.Arrive(10);
  const auto passes = [&](uint64_t id) { return id == waits ? Verdict::kPass : Verdict::kTake; };
  for (uint32_t i = 0; i < 2 * WaitingQueue::kMostPassing; ++i) {
    const uint64_t other = line.Arrive(10);
    EXPECT_EQ(line.Next(passes), other);
  }
  line.Arrive(1);
  EXPECT_EQ(line.Next(), waits);  // overdue by now
}

TEST(WaitingQueue, ABucketIsLeftAfterSoManyWithoutRoomAndOthersAreAsked) {
  Line line;
  for (int i = 0; i < 100; ++i) line.Arrive(10);
  const uint64_t longer = line.Arrive(5000);
  uint32_t offers = 0;
  EXPECT_EQ(line.Next([&](uint64_t id) {
    ++offers;
    return id == longer ? Verdict::kTake : Verdict::kNoRoom;
  }),
            longer);
  EXPECT_EQ(offers, WaitingQueue::kMostTries + 1);
}

TEST(WaitingQueue, WhoComesBackKeepsWhatItWasPassedBy) {
  Line line;
  const uint64_t first = line.Arrive(50'000);
  const auto not_first = [&](uint64_t id) {
    return id == first ? Verdict::kNoRoom : Verdict::kTake;
  };
  for (uint32_t i = 0; i < WaitingQueue::kMostPassing; ++i) {
    line.Arrive(10);
    ASSERT_NE(line.Next(not_first), 0U);
  }
  const auto taken = line.queue.Pick([](const WaitingRequest&) { return Verdict::kTake; });
  ASSERT_EQ(taken->id.value(), first);
  line.queue.Add(*taken);
  line.Arrive(10);
  EXPECT_EQ(line.Next(not_first), 0U);
}

TEST(WaitingQueue, ARemovedRequestIsNotOffered) {
  Line line;
  line.Arrive(10);
  line.Arrive(20);
  EXPECT_EQ(line.queue.CountIn(0), 2U);
  EXPECT_TRUE(line.queue.Remove(RequestId(1)));
  EXPECT_FALSE(line.queue.Remove(RequestId(1)));
  EXPECT_EQ(line.queue.count(), 1U);
  EXPECT_EQ(line.Next(), 2U);
}

// The bound that waiting has, whatever comes: later arrivals that begin earlier are counted.
TEST(WaitingQueue, NoArrivalOrderMakesARequestBePassedByMoreThanTheBound) {
  WEIR_TRACE_SEED();
  std::mt19937 random(test::Seed());
  Line line;
  std::vector<uint64_t> waiting;
  std::vector<uint32_t> passed(20'001, 0);
  for (int round = 0; round < 10'000; ++round) {
    // One comes and one goes, mostly short ones: a long one would wait for ever without ageing.
    for (uint32_t i = 0; i < (waiting.size() < 40 ? 2U : 1U); ++i) {
      waiting.push_back(line.Arrive(random() % 10 == 0 ? 70'000 : 1 + random() % 5000));
    }
    const uint64_t taken =
        line.Next([&](uint64_t) { return random() % 8 == 0 ? Verdict::kNoRoom : Verdict::kTake; });
    if (taken == 0) continue;
    std::erase(waiting, taken);
    for (const uint64_t id : waiting) passed[id] += id < taken ? 1 : 0;
  }
  EXPECT_LE(*std::ranges::max_element(passed), WaitingQueue::kMostPassing);
  EXPECT_GT(*std::ranges::max_element(passed), WaitingQueue::kMostPassing / 2);  // it was tried
}

}  // namespace
}  // namespace weir
