#include "base/thread_pool.h"

#include <chrono>

namespace weir {
namespace {

// A forward pass of a small model has ~150 loops a step, microseconds apart: workers spin that long
// before they sleep, so that an idle process uses no CPU.
constexpr auto kSpin = std::chrono::microseconds(100);

// Busy waiting that lets others run now and then: with more threads than free cores, the thread
// waited for may be the one that has no core.
void WaitABit(uint32_t turn) {
  if (turn % 64 == 63) {
    std::this_thread::yield();
    return;
  }
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(uint32_t thread_count) {
  for (uint32_t thread = 1; thread < thread_count; ++thread) {
    workers_.emplace_back([this, thread] { WorkerLoop(thread); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void ThreadPool::Run(uint32_t count, Function function, const void* context) {
  if (workers_.empty() || count <= 1) {
    for (uint32_t index = 0; index < count; ++index) function(context, index, 0);
    return;
  }
  function_ = function;
  context_ = context;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
  {
    std::lock_guard lock(mutex_);  // a worker between its last look and its sleep must see this
    generation_.fetch_add(1, std::memory_order_release);
  }
  wake_.notify_all();
  WorkOn(0);
  for (uint32_t turn = 0; busy_.load(std::memory_order_acquire) != 0; ++turn) WaitABit(turn);
}

void ThreadPool::WorkOn(uint32_t thread) {
  for (uint32_t index; (index = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) {
    function_(context_, index, thread);
  }
}

void ThreadPool::WorkerLoop(uint32_t thread) {
  uint64_t seen = 0;
  while (true) {
    const auto spin_end = std::chrono::steady_clock::now() + kSpin;
    for (uint32_t turn = 0; generation_.load(std::memory_order_acquire) == seen && !stop_ &&
                            std::chrono::steady_clock::now() < spin_end;
         ++turn) {
      WaitABit(turn);
    }
    if (generation_.load(std::memory_order_acquire) == seen) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return generation_.load() != seen || stop_; });
    }
    if (stop_) return;
    ++seen;
    WorkOn(thread);
    busy_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace weir
