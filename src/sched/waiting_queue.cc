#include "sched/waiting_queue.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace weir {

WaitingQueue::WaitingQueue(LengthBuckets buckets, QueuePolicy policy)
    : buckets_(std::move(buckets)),
      policy_(policy),
      counts_(buckets_.count(), 0),
      turns_(buckets_.count(), 0) {}

void WaitingQueue::Add(const WaitingRequest& request) {
  waiting_.push_back({.request = request, .bucket = buckets_.IndexOf(request.length)});
  ++counts_[waiting_.back().bucket];
}

bool WaitingQueue::Remove(RequestId id) {
  const auto at =
      std::ranges::find(waiting_, id, [](const Entry& entry) { return entry.request.id; });
  if (at == waiting_.end()) return false;
  --counts_[at->bucket];
  waiting_.erase(at);
  return true;
}

// The bucket that a round would serve next has the largest sum of turns owed and weight.
void WaitingQueue::SortByPolicy() {
  const auto key = [this](const Entry& entry) {
    const bool in_order = policy_ == QueuePolicy::kFifo || entry.is_overdue();
    const int64_t turn = turns_[entry.bucket] + buckets_.WeightOf(entry.bucket);
    return std::tuple(entry.is_overdue() ? 0 : 1, in_order ? 0 : -turn,
                      in_order ? 0U : entry.bucket, in_order ? 0 : entry.request.work,
                      entry.request.arrival);
  };
  std::ranges::sort(waiting_, {}, key);
}

std::optional<WaitingRequest> WaitingQueue::Pick(
    const std::function<Verdict(const WaitingRequest&)>& offer) {
  SortByPolicy();
  std::array<uint32_t, LengthBuckets::kMostBuckets> without_room{};
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const uint32_t bucket = waiting_[i].bucket;
    if (without_room[bucket] == kMostTries) continue;
    const Verdict verdict = offer(waiting_[i].request);
    if (verdict == Verdict::kTake) return Take(i);
    const bool nothing_passes = policy_ == QueuePolicy::kFifo || waiting_[i].is_overdue();
    if (verdict != Verdict::kNoRoom) continue;
    if (nothing_passes) return std::nullopt;
    ++without_room[bucket];
  }
  return std::nullopt;
}

WaitingRequest WaitingQueue::Take(size_t index) {
  const Entry taken = waiting_[index];
  if (!taken.is_overdue()) TurnRound(taken.bucket);
  --counts_[taken.bucket];
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(index));
  for (Entry& entry : waiting_) {
    if (entry.request.arrival < taken.request.arrival) ++entry.request.passed_by;
  }
  return taken.request;
}

// Each bucket with somebody in it earns its weight; the one that is served pays for all.
void WaitingQueue::TurnRound(uint32_t taken_bucket) {
  int64_t sum = 0;
  for (uint32_t bucket = 0; bucket < buckets_.count(); ++bucket) {
    if (CountIn(bucket) == 0) {
      turns_[bucket] = 0;
      continue;
    }
    turns_[bucket] += buckets_.WeightOf(bucket);
    sum += buckets_.WeightOf(bucket);
  }
  turns_[taken_bucket] -= sum;
}

}  // namespace weir
