#include "base/thread_pool.h"

#include <algorithm>
#include <chrono>

namespace weir {
namespace {

// A forward pass of a small model has ~150 loops a step, microseconds apart: workers spin that long
// before they sleep, so that an idle process uses no CPU.
constexpr auto kSpin = std::chrono::microseconds(100);

// Claims a loop splits into for each thread: enough to even out, few enough to cost nothing.
constexpr uint32_t kBatchesPerThread = 16;

constexpr uint32_t kNothingLeft = 0xffffffff;

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
  // Closes the last loop before its description changes: who sees any of the new one (acquire) also
  // sees that nothing is left to claim.
  const uint32_t last = generation();
  claim_.store(uint64_t{last} << 32U | kNothingLeft, std::memory_order_relaxed);
  function_.store(function, std::memory_order_release);
  context_.store(context, std::memory_order_release);
  count_.store(count, std::memory_order_release);
  batch_.store(std::max(1U, count / (thread_count() * kBatchesPerThread)),
               std::memory_order_release);
  done_.store(0, std::memory_order_relaxed);
  const uint32_t loop = last + 1;
  // Sequentially consistent with sleepers_: either a worker counted there is seen and woken, or it
  // sees this loop before it sleeps.
  claim_.store(uint64_t{loop} << 32U);
  if (sleepers_.load() != 0) {
    std::lock_guard lock(mutex_);
    wake_.notify_all();
  }
  WorkOn(loop, 0);
  for (uint32_t turn = 0; done_.load(std::memory_order_acquire) != count; ++turn) WaitABit(turn);
}

void ThreadPool::WorkOn(uint32_t generation, uint32_t thread) {
  const Function function = function_.load(std::memory_order_acquire);
  const void* context = context_.load(std::memory_order_acquire);
  const uint32_t count = count_.load(std::memory_order_acquire);
  const uint32_t batch = batch_.load(std::memory_order_acquire);
  uint64_t claim = claim_.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(claim >> 32U) == generation) {
    const auto begin = static_cast<uint32_t>(claim);
    if (begin >= count) return;
    const uint32_t end = begin + std::min(batch, count - begin);
    if (!claim_.compare_exchange_weak(claim, claim + (end - begin), std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    for (uint32_t index = begin; index < end; ++index) function(context, index, thread);
    done_.fetch_add(end - begin, std::memory_order_release);
    claim = claim_.load(std::memory_order_acquire);
  }
}

void ThreadPool::WorkerLoop(uint32_t thread) {
  uint32_t seen = 0;
  while (!stop_) {
    const auto spin_end = std::chrono::steady_clock::now() + kSpin;
    for (uint32_t turn = 0;
         generation() == seen && !stop_ && std::chrono::steady_clock::now() < spin_end; ++turn) {
      WaitABit(turn);
    }
    if (generation() == seen) Sleep(seen);
    seen = generation();
    WorkOn(seen, thread);
  }
}

void ThreadPool::Sleep(uint32_t seen) {
  std::unique_lock lock(mutex_);
  ++sleepers_;
  wake_.wait(lock, [&] { return generation() != seen || stop_; });
  --sleepers_;
}

}  // namespace weir
