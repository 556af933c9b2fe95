#include "sched/prefill_plan.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace weir {
namespace {

constexpr double kFirstArrivalShare = 0.25;

// What is left of a step while it is handed out.
class Budget {
 public:
  Budget(const StepPace& pace, const PrefillLimits& limits)
      : pace_(pace), seconds_(limits.seconds), tokens_(limits.tokens) {}

  // As much as `seconds` of the budget allow.
  void Give(PrefillCandidate& candidate, double seconds) {
    const uint32_t most = std::min(candidate.left, candidate.most) - candidate.tokens;
    const uint32_t wanted = std::min(most, tokens_);
    const uint32_t position = candidate.position + candidate.tokens;
    uint32_t given = std::min(wanted, InTime(std::min(seconds, seconds_), position));
    if (given < wanted) given -= std::min(given, (candidate.tokens + given) % kPrefillGranule);
    if (!has_given_) given = std::max(given, std::min(wanted, kPrefillGranule));
    if (given == 0) return;
    has_given_ = true;
    candidate.tokens += given;
    tokens_ -= given;
    seconds_ -= pace_.PrefillSeconds({.first_position = position, .tokens = given});
  }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  [[nodiscard]] uint32_t InTime(double seconds, uint32_t position) const {
    if (!pace_.is_known()) return has_given_ ? 0 : kFirstPrefillTokens;
    if (seconds <= 0) return 0;
    return static_cast<uint32_t>(std::min(pace_.TokensIn(seconds, position), 1e9));
  }

  const StepPace& pace_;
  double seconds_;
  uint32_t tokens_;
  bool has_given_ = false;
};

}  // namespace

void PlanPrefill(const StepPace& pace, const PrefillLimits& limits,
                 std::span<PrefillCandidate> candidates) {
  if (candidates.empty()) return;
  std::vector<PrefillCandidate*> order;
  for (PrefillCandidate& candidate : candidates) {
    candidate.tokens = 0;
    order.push_back(&candidate);
  }
  const bool is_fifo = limits.policy == QueuePolicy::kFifo;
  std::ranges::sort(order, {}, [is_fifo](const PrefillCandidate* candidate) {
    return std::tuple(is_fifo ? 0 : candidate->left, candidate->arrival);
  });
  Budget budget(pace, limits);
  PrefillCandidate& oldest = **std::ranges::min_element(order, {}, &PrefillCandidate::arrival);
  if (&oldest != order.front()) budget.Give(oldest, kFirstArrivalShare * limits.seconds);
  for (PrefillCandidate* candidate : order) budget.Give(*candidate, budget.seconds());
}

}  // namespace weir
