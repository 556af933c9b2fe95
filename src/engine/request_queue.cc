#include "engine/request_queue.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

template <class T>
T TakeFront(std::deque<T>& queue) {
  T front = std::move(queue.front());
  queue.pop_front();
  return front;
}

}  // namespace

Result<RequestId> RequestQueue::Push(GenerationRequest request, EventSink sink) {
  RequestId id;
  {
    std::lock_guard lock(mutex_);
    if (is_closed_) return Fail(ErrorCode::kUnavailable, "shutting down; no new requests");
    if (waiting_.size() >= capacity_) {
      return Fail(ErrorCode::kResourceExhausted,
                  fmt::format("{} requests are waiting, the most the queue holds; try again later",
                              waiting_.size()));
    }
    if (cancelled_.size() >= kCancelledPerPlace * capacity_) {
      return Fail(ErrorCode::kResourceExhausted,
                  fmt::format("{} requests were cancelled during this step; try again later",
                              cancelled_.size()));
    }
    id = RequestId(++last_id_);
    waiting_.push_back({id, std::move(request), std::move(sink)});
    UpdateGauge();
  }
  work_.notify_one();
  return id;
}

void RequestQueue::Cancel(RequestId id) {
  {
    std::lock_guard lock(mutex_);
    if (running_ == id) running_is_cancelled_ = true;
    const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const QueuedRequest& queued) { return queued.id == id; });
    if (at == waiting_.end()) return;
    cancelled_.push_back({std::move(at->sink)});
    waiting_.erase(at);
    UpdateGauge();
  }
  work_.notify_one();
}

std::optional<RequestQueue::Item> RequestQueue::Pop() {
  std::unique_lock lock(mutex_);
  work_.wait(lock, [&] {
    return !waiting_.empty() || !cancelled_.empty() || !tasks_.empty() || is_closed_;
  });
  if (!tasks_.empty()) return TakeFront(tasks_);
  if (!cancelled_.empty()) return TakeFront(cancelled_);
  if (!waiting_.empty()) {
    QueuedRequest next = TakeFront(waiting_);
    running_ = next.id;
    running_is_cancelled_ = false;
    UpdateGauge();
    return next;
  }
  is_drained_ = true;
  drained_.notify_all();
  return std::nullopt;
}

std::optional<CancelledRequest> RequestQueue::TryPopCancelled() {
  std::lock_guard lock(mutex_);
  if (cancelled_.empty()) return std::nullopt;
  return TakeFront(cancelled_);
}

bool RequestQueue::PushTask(Task task) {
  {
    std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    tasks_.push_back(std::move(task));
  }
  work_.notify_one();
  return true;
}

std::optional<RequestQueue::Task> RequestQueue::TryPopTask() {
  std::lock_guard lock(mutex_);
  if (tasks_.empty()) return std::nullopt;
  return TakeFront(tasks_);
}

void RequestQueue::FinishRunning() {
  std::lock_guard lock(mutex_);
  running_.reset();
}

void RequestQueue::Close() {
  {
    std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  work_.notify_all();
}

void RequestQueue::CancelAll() {
  {
    std::lock_guard lock(mutex_);
    running_is_cancelled_ = true;
    for (QueuedRequest& queued : waiting_) cancelled_.push_back({std::move(queued.sink)});
    waiting_.clear();
    UpdateGauge();
  }
  work_.notify_all();
}

bool RequestQueue::WaitDrained(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  std::unique_lock lock(mutex_);
  return drained_.wait_for(lock, std::min(timeout, kLongest), [&] { return is_drained_; });
}

}  // namespace weir
