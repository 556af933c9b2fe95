// A fixed set of compute threads that run one indexed loop at a time.
//
// Results never depend on the number of threads: a loop's body writes only what its index owns.
// A loop is over when its indices are done, not when every thread has looked at it: a worker that
// sleeps, or that the system gave no core, holds up nobody unless it is in the middle of an index.
// Ownership: the engine owns one. Threads: ParallelFor() is called by one thread at a time, which
// takes part in the work; bodies run concurrently and must not call ParallelFor().
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace weir {

class ThreadPool {
 public:
  // `thread_count` includes the caller of ParallelFor: 1 starts no thread.
  explicit ThreadPool(uint32_t thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] uint32_t thread_count() const { return static_cast<uint32_t>(workers_.size()) + 1; }

  // Runs body(index, thread) for every index in [0, count), in any order, and returns when all are
  // done. `thread` < thread_count() names scratch space. The body must not throw.
  template <class Body>
  void ParallelFor(uint32_t count, const Body& body) {
    Run(
        count,
        [](const void* context, uint32_t index, uint32_t thread) {
          (*static_cast<const Body*>(context))(index, thread);
        },
        &body);
  }

 private:
  using Function = void (*)(const void* context, uint32_t index, uint32_t thread);
  void Run(uint32_t count, Function function, const void* context);
  void WorkerLoop(uint32_t thread);
  // Runs indices of loop `generation` until none is left or that loop is over.
  void WorkOn(uint32_t generation, uint32_t thread);
  [[nodiscard]] uint32_t generation() const { return static_cast<uint32_t>(claim_ >> 32U); }
  void Sleep(uint32_t seen);

  // The current loop. A worker that comes late may read these while the next loop is written, so
  // they are atomic; it finds nothing to claim then.
  std::atomic<Function> function_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<uint32_t> count_{0};
  std::atomic<uint32_t> batch_{1};  // indices claimed at once

  std::atomic<uint64_t> claim_{0};  // number of the loop << 32 | first index not yet claimed
  std::atomic<uint32_t> done_{0};   // indices of the loop that are finished
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // guards sleeping only
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
};

}  // namespace weir
