#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

namespace weir {
namespace {

TEST(ThreadPool, RunsEveryIndexOnceForAnyNumberOfThreads) {
  for (const uint32_t threads : {1U, 2U, 3U, 8U}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.thread_count(), threads);
    for (const uint32_t count : {0U, 1U, 2U, 7U, 1000U}) {
      std::vector<std::atomic<uint32_t>> runs(count);
      pool.ParallelFor(count, [&](uint32_t index, uint32_t thread) {
        ASSERT_LT(thread, threads);
        runs[index].fetch_add(1, std::memory_order_relaxed);
      });
      for (const auto& run : runs) EXPECT_EQ(run.load(), 1U);
    }
  }
}

TEST(ThreadPool, MakesWhatALoopWroteVisibleToTheNext) {
  ThreadPool pool(4);
  std::vector<uint64_t> values(64, 0);  // plain memory: the thread sanitizer checks the order
  for (int round = 0; round < 300; ++round) {
    pool.ParallelFor(64, [&](uint32_t index, uint32_t) { values[index] = values[index] + 1; });
    pool.ParallelFor(
        32, [&](uint32_t index, uint32_t) { std::swap(values[index], values[63 - index]); });
  }
  EXPECT_EQ(std::count(values.begin(), values.end(), 300U), 64);
}

TEST(ThreadPool, GivesEachThreadItsOwnScratch) {
  ThreadPool pool(3);
  std::vector<uint64_t> sums(pool.thread_count(), 0);  // unsynchronised on purpose
  pool.ParallelFor(10000, [&](uint32_t index, uint32_t thread) { sums[thread] += index; });
  EXPECT_EQ(sums[0] + sums[1] + sums[2], 10000ULL * 9999 / 2);
}

TEST(ThreadPool, EndsWithoutAnyLoopAndRightAfterOne) {
  { ThreadPool idle(4); }
  for (int round = 0; round < 50; ++round) {
    std::atomic<uint32_t> runs{0};
    {
      ThreadPool pool(3);
      pool.ParallelFor(5, [&](uint32_t, uint32_t) { ++runs; });
    }
    EXPECT_EQ(runs.load(), 5U);
  }
}

// Loops of changing length and body, far more often than workers can follow: a worker that comes
// late must never run an index of the wrong loop.
TEST(ThreadPool, LateWorkersNeverMixLoops) {
  ThreadPool pool(8);
  std::vector<uint32_t> owners(300);
  for (uint32_t round = 1; round <= 20000; ++round) {
    const uint32_t count = 2 + round * 7919 % 299;
    pool.ParallelFor(count, [&owners, round](uint32_t index, uint32_t) { owners[index] = round; });
    ASSERT_EQ(std::count(owners.begin(), owners.end(), round), count);
  }
}

// Each index waits until all three are held, so the loop ends only if every thread takes one.
TEST(ThreadPool, EveryThreadTakesItsShare) {
  ThreadPool pool(3);
  std::atomic<uint32_t> held{0};
  std::atomic<bool> release{false};
  std::thread holder([&] {
    pool.ParallelFor(3, [&](uint32_t, uint32_t) {
      ++held;
      while (!release) std::this_thread::yield();
    });
  });
  while (held != 3) std::this_thread::yield();  // every thread holds an index
  release = true;
  holder.join();
}

}  // namespace
}  // namespace weir
