// The engine's inbox: what came since the engine last looked, and which requests are open.
//
// A place in the queue is held from Push until MarkRunning, and again from MarkWaiting: those that
// come back are never refused, so there may be more than the queue takes. A cancelled request
// leaves its place at once, though its sink hears of it only from the engine thread; so that these
// cannot pile up without bound either, no request is taken while kCancelledPerPlace times the
// capacity are untold.
//
// Threads: Push, PushTask, Cancel, Close, CancelAll and WaitDrained from any; the rest from the
// engine's.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/engine.h"

namespace weir {

struct QueuedRequest {
  RequestId id;
  GenerationRequest request;
  EventSink sink;
};

class RequestQueue {
 public:
  static constexpr size_t kCancelledPerPlace = 16;

  // Keeps `waiting_gauge` at the number of places held.
  RequestQueue(uint32_t capacity, std::atomic<uint32_t>& waiting_gauge)
      : capacity_(capacity), waiting_gauge_(waiting_gauge) {}

  // Gives the request its id. kResourceExhausted when full, kUnavailable when closed.
  Result<RequestId> Push(GenerationRequest request, EventSink sink);
  void Cancel(RequestId id);  // unknown and ended ones are ignored
  using Task = std::function<void()>;
  bool PushTask(Task task);  // false once closed: the task will not run

  // What is new, in order of arrival. A request that was taken before is in `cancelled` at most
  // once; one that was cancelled before it was taken is in `untold` alone, and owes its sink the
  // last event.
  struct News {
    std::vector<Task> tasks;
    std::vector<QueuedRequest> arrived;
    std::vector<RequestId> cancelled;
    std::vector<EventSink> untold;
    bool is_over = false;  // closed, and no request is open
  };
  enum class Wait : uint8_t { kForNews, kNot };
  [[nodiscard]] News Take(Wait wait);

  // Of requests that were taken.
  void MarkRunning(RequestId id);
  void MarkWaiting(RequestId id);  // again, after it ran
  void MarkEnded(RequestId id);

  void Close();      // no more Push; what is in stays
  void CancelAll();  // waiting and running
  // True once News was over (which needs Close first), false after `timeout`.
  [[nodiscard]] bool WaitDrained(std::chrono::milliseconds timeout);

 private:
  enum class Stage : uint8_t { kWaiting, kRunning, kCancelled };
  void CancelLocked(RequestId id);
  void SetStage(RequestId id, Stage stage);
  void UpdateGauge() { waiting_gauge_ = waiting_count_; }

  const uint32_t capacity_;
  std::atomic<uint32_t>& waiting_gauge_;
  std::mutex mutex_;  // guards all below
  std::condition_variable work_;
  std::condition_variable drained_;
  News news_;
  std::unordered_map<RequestId, Stage> open_;
  uint32_t waiting_count_ = 0;  // of `open_`
  uint64_t last_id_ = 0;
  bool is_closed_ = false;
  bool is_drained_ = false;
};

}  // namespace weir
