// The engine's inbox: waiting requests in order of arrival, bounded, each cancellable.
//
// A cancelled request leaves its place to the next at once. Its sink alone stays until the engine
// thread has told it; so that these cannot pile up without bound either, no request is taken while
// kCancelledPerPlace times the capacity are untold.
//
// Tasks are for the engine thread too: run between two steps, before any request.
//
// Threads: Push, PushTask, Cancel, Close, CancelAll and WaitDrained from any; the rest from the
// engine's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine.h"

namespace weir {

struct QueuedRequest {
  RequestId id;
  GenerationRequest request;
  EventSink sink;
};

// Was waiting; owes its sink the last event.
struct CancelledRequest {
  EventSink sink;
};

class RequestQueue {
 public:
  static constexpr size_t kCancelledPerPlace = 16;

  // Keeps `waiting_gauge` at the number of requests in line.
  RequestQueue(uint32_t capacity, std::atomic<uint32_t>& waiting_gauge)
      : capacity_(capacity), waiting_gauge_(waiting_gauge) {}

  // Gives the request its id. kResourceExhausted when full, kUnavailable when closed.
  Result<RequestId> Push(GenerationRequest request, EventSink sink);
  void Cancel(RequestId id);

  // Waits for something to do: a request to run, a cancelled one to report, or a task. The first is
  // the running one until FinishRunning(). nullopt once closed and empty: the queue is drained.
  using Task = std::function<void()>;
  using Item = std::variant<QueuedRequest, CancelledRequest, Task>;
  [[nodiscard]] std::optional<Item> Pop();
  // False once closed: the task will not run.
  bool PushTask(Task task);
  [[nodiscard]] std::optional<Task> TryPopTask();
  [[nodiscard]] std::optional<CancelledRequest> TryPopCancelled();
  [[nodiscard]] bool running_is_cancelled() const {
    return running_is_cancelled_.load(std::memory_order_relaxed);
  }
  void FinishRunning();

  void Close();      // no more Push; what is in stays
  void CancelAll();  // waiting and running
  // True once drained (which needs Close first), false after `timeout`.
  [[nodiscard]] bool WaitDrained(std::chrono::milliseconds timeout);

 private:
  void UpdateGauge() { waiting_gauge_ = static_cast<uint32_t>(waiting_.size()); }

  const uint32_t capacity_;
  std::atomic<uint32_t>& waiting_gauge_;
  std::mutex mutex_;  // guards all below but the atomic
  std::condition_variable work_;
  std::condition_variable drained_;
  std::deque<QueuedRequest> waiting_;
  std::deque<CancelledRequest> cancelled_;
  std::deque<Task> tasks_;
  std::optional<RequestId> running_;
  uint64_t last_id_ = 0;
  bool is_closed_ = false;
  bool is_drained_ = false;
  std::atomic<bool> running_is_cancelled_{false};
};

}  // namespace weir
