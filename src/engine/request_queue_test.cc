#include "engine/request_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Wait = RequestQueue::Wait;

class RequestQueueTest : public ::testing::Test {
 protected:
  RequestId Push() {
    return *queue_.Push({}, [](const GenerationEvent&) {});
  }

  std::atomic<uint32_t> waiting_{0};
  RequestQueue queue_{2, waiting_};
};

TEST_F(RequestQueueTest, APlaceIsHeldFromPushUntilTheRequestRuns) {
  const RequestId first = Push();
  Push();
  const auto refused = queue_.Push({}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(queue_.Take(Wait::kForNews).arrived, SizeIs(2));
  EXPECT_FALSE(queue_.Push({}, nullptr));  // the engine has them, but they wait
  queue_.MarkRunning(first);
  EXPECT_EQ(waiting_, 1U);
  Push();
  queue_.MarkWaiting(first);  // it comes back: one more than the queue takes
  EXPECT_EQ(waiting_, 3U);
  queue_.MarkEnded(first);
  EXPECT_EQ(waiting_, 2U);
}

TEST_F(RequestQueueTest, WhoIsCancelledBeforeTheEngineTookItIsOnlyUntold) {
  const RequestId id = Push();
  queue_.Cancel(id);
  queue_.Cancel(id);
  EXPECT_EQ(waiting_, 0U);
  const RequestQueue::News news = queue_.Take(Wait::kForNews);
  EXPECT_THAT(news.arrived, IsEmpty());
  EXPECT_THAT(news.cancelled, IsEmpty());
  EXPECT_THAT(news.untold, SizeIs(1));
}

TEST_F(RequestQueueTest, WhoIsCancelledLaterIsNamedOnceAndLeavesItsPlaceAtOnce) {
  const RequestId id = Push();
  (void)queue_.Take(Wait::kNot);
  queue_.Cancel(id);
  queue_.Cancel(id);
  EXPECT_EQ(waiting_, 0U);
  queue_.MarkWaiting(id);  // the engine suspends it before it looks
  EXPECT_EQ(waiting_, 0U);
  EXPECT_THAT(queue_.Take(Wait::kForNews).cancelled, ElementsAre(id));
  queue_.MarkEnded(id);
  queue_.Cancel(id);
  EXPECT_THAT(queue_.Take(Wait::kNot).cancelled, IsEmpty());
}

TEST_F(RequestQueueTest, ARequestThatEndsByItselfIsNotNamedAsCancelled) {
  const RequestId id = Push();
  (void)queue_.Take(Wait::kNot);
  queue_.Cancel(id);
  queue_.MarkEnded(id);
  EXPECT_THAT(queue_.Take(Wait::kNot).cancelled, IsEmpty());
}

TEST_F(RequestQueueTest, CancelledOnesThatAreNotToldAreBounded) {
  for (size_t i = 0; i < 2 * RequestQueue::kCancelledPerPlace; ++i) queue_.Cancel(Push());
  const auto refused = queue_.Push({}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(queue_.Take(Wait::kForNews).untold, SizeIs(2 * RequestQueue::kCancelledPerPlace));
  Push();
}

TEST_F(RequestQueueTest, ItIsOverWhenClosedAndAllHaveEndedAndBeenTold) {
  const RequestId taken = Push();
  (void)queue_.Take(Wait::kNot);
  const RequestId untaken = Push();
  queue_.Close();
  const auto refused = queue_.Push({}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(queue_.PushTask([] {}));
  queue_.CancelAll();
  const RequestQueue::News news = queue_.Take(Wait::kForNews);
  EXPECT_THAT(news.cancelled, ElementsAre(taken));
  EXPECT_THAT(news.untold, SizeIs(1));
  EXPECT_FALSE(news.is_over);
  EXPECT_FALSE(queue_.WaitDrained(std::chrono::milliseconds(0)));
  queue_.MarkEnded(taken);
  queue_.MarkEnded(untaken);  // unknown by now: ignored
  EXPECT_TRUE(queue_.Take(Wait::kForNews).is_over);
  EXPECT_TRUE(queue_.WaitDrained(std::chrono::milliseconds(0)));
}

}  // namespace
}  // namespace weir
