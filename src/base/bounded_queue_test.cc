#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

namespace weir {
namespace {

TEST(BoundedQueue, GivesItemsBackInOrder) {
  BoundedQueue<int> queue(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.TryPush(int{i}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Pop(), i);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
}

TEST(BoundedQueue, RefusesWhatIsBeyondItsCapacityAndLeavesTheItem) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_TRUE(queue.TryPush(std::move(first)));
  EXPECT_FALSE(queue.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(**queue.Pop(), 1);
  EXPECT_TRUE(queue.TryPush(std::move(second)));
}

TEST(BoundedQueue, StillGivesWhatWasQueuedWhenItClosed) {
  BoundedQueue<int> queue(4);
  EXPECT_TRUE(queue.TryPush(1));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(2));
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, WakesWaitersWhenItCloses) {
  BoundedQueue<int> queue(1);
  std::thread waiter([&] { EXPECT_EQ(queue.Pop(), std::nullopt); });
  queue.Close();
  waiter.join();
}

TEST(BoundedQueue, LosesAndDoublesNothingBetweenThreads) {
  constexpr int kItems = 2000;
  constexpr int kProducers = 3;
  BoundedQueue<int> queue(7);
  std::vector<std::vector<int>> taken(2);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      while (const auto item = queue.Pop()) mine.push_back(*item);
    });
  }
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = producer; i < kItems; i += kProducers) {
        while (!queue.TryPush(int{i})) std::this_thread::yield();
      }
    });
  }
  for (auto& producer : producers) producer.join();
  queue.Close();
  for (auto& thread : threads) thread.join();
  std::vector<int> all = taken[0];
  all.insert(all.end(), taken[1].begin(), taken[1].end());
  std::sort(all.begin(), all.end());
  std::vector<int> expected(kItems);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace weir
