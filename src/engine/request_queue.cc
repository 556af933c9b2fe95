#include "engine/request_queue.h"

#include <algorithm>
#include <utility>

namespace weir {

Result<RequestId> RequestQueue::Push(GenerationRequest request, EventSink sink) {
  RequestId id;
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return Fail(ErrorCode::kUnavailable, "shutting down; no new requests");
    if (waiting_count_ >= capacity_) {
      return Fail(ErrorCode::kResourceExhausted,
                  fmt::format("{} requests are waiting, the most the queue holds; try again later",
                              waiting_count_));
    }
    const size_t untold = news_.untold.size() + news_.cancelled.size();
    if (untold >= kCancelledPerPlace * capacity_) {
      return Fail(
          ErrorCode::kResourceExhausted,
          fmt::format("{} requests were cancelled during this step; try again later", untold));
    }
    id = RequestId(++last_id_);
    news_.arrived.push_back({id, std::move(request), std::move(sink)});
    open_.emplace(id, Stage::kWaiting);
    ++waiting_count_;
    UpdateGauge();
  }
  work_.notify_one();
  return id;
}

void RequestQueue::Cancel(RequestId id) {
  {
    const std::lock_guard lock(mutex_);
    CancelLocked(id);
  }
  work_.notify_one();
}

void RequestQueue::CancelLocked(RequestId id) {
  const auto open = open_.find(id);
  if (open == open_.end() || open->second == Stage::kCancelled) return;
  SetStage(id, Stage::kCancelled);
  const auto at = std::ranges::find(news_.arrived, id, &QueuedRequest::id);
  if (at == news_.arrived.end()) {
    news_.cancelled.push_back(id);
    return;
  }
  news_.untold.push_back(std::move(at->sink));
  news_.arrived.erase(at);
  open_.erase(id);
}

bool RequestQueue::PushTask(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    news_.tasks.push_back(std::move(task));
  }
  work_.notify_one();
  return true;
}

RequestQueue::News RequestQueue::Take(Wait wait) {
  std::unique_lock lock(mutex_);
  if (wait == Wait::kForNews) {
    work_.wait(lock, [&] {
      return !news_.tasks.empty() || !news_.arrived.empty() || !news_.cancelled.empty() ||
             !news_.untold.empty() || is_closed_;
    });
  }
  News news = std::exchange(news_, {});
  news.is_over = is_closed_ && open_.empty() && news.untold.empty() && news.tasks.empty();
  if (news.is_over) {
    is_drained_ = true;
    drained_.notify_all();
  }
  return news;
}

// A cancelled request stays so until it has ended.
void RequestQueue::SetStage(RequestId id, Stage stage) {
  const auto open = open_.find(id);
  if (open == open_.end() || open->second == Stage::kCancelled) return;
  waiting_count_ -= open->second == Stage::kWaiting ? 1 : 0;
  waiting_count_ += stage == Stage::kWaiting ? 1 : 0;
  open->second = stage;
  UpdateGauge();
}

void RequestQueue::MarkRunning(RequestId id) {
  const std::lock_guard lock(mutex_);
  SetStage(id, Stage::kRunning);
}

void RequestQueue::MarkWaiting(RequestId id) {
  const std::lock_guard lock(mutex_);
  SetStage(id, Stage::kWaiting);
}

void RequestQueue::MarkEnded(RequestId id) {
  const std::lock_guard lock(mutex_);
  SetStage(id, Stage::kRunning);  // leaves its place
  open_.erase(id);
  std::erase(news_.cancelled, id);
}

void RequestQueue::Close() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  work_.notify_all();
}

void RequestQueue::CancelAll() {
  {
    const std::lock_guard lock(mutex_);
    std::vector<RequestId> ids;
    for (const auto& [id, stage] : open_) ids.push_back(id);
    std::ranges::sort(ids);
    for (const RequestId id : ids) CancelLocked(id);
  }
  work_.notify_all();
}

bool RequestQueue::WaitDrained(std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  std::unique_lock lock(mutex_);
  return drained_.wait_for(lock, std::min(timeout, kLongest), [&] { return is_drained_; });
}

}  // namespace weir
