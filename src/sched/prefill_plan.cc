#include "sched/prefill_plan.h"

#include <algorithm>
#include <tuple>

namespace weir {
namespace {

constexpr double kFirstArrivalShare = 0.25;

// Rows that the time cuts, down to whole granules; `least` or none.
uint32_t WholeGranules(uint32_t tokens, uint32_t least) {
  return tokens - tokens % (tokens >= kPrefillGranule ? kPrefillGranule : least);
}

// What is left of a step while it is handed out.
class Budget {
 public:
  Budget(const StepPace& pace, const PrefillLimits& limits)
      : pace_(pace), seconds_(limits.seconds), tokens_(limits.tokens) {}

  // As much as `seconds` allow, if that is `least`. Returns the seconds that it will take.
  double Give(PrefillCandidate& candidate, double seconds, uint32_t least = kLeastPrefill) {
    const uint32_t most = std::min(candidate.left, candidate.most) - candidate.tokens;
    const uint32_t wanted = std::min(most, tokens_);
    const uint32_t position = candidate.position + candidate.tokens;
    uint32_t given = std::min(wanted, InTime(seconds, position));
    if (given < wanted) given = WholeGranules(given, least);
    if (given == 0) return 0;
    candidate.tokens += given;
    tokens_ -= given;
    const double taken = pace_.PrefillSeconds({.first_position = position, .tokens = given});
    seconds_ -= taken;
    has_given_ = true;
    return taken;
  }
  [[nodiscard]] double seconds() const { return seconds_; }
  [[nodiscard]] bool has_given() const { return has_given_; }

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

void PrefillPlanner::Plan(const StepPace& pace, const PrefillLimits& limits,
                          std::span<PrefillCandidate> candidates) {
  if (candidates.empty()) return;
  order_.clear();
  for (PrefillCandidate& candidate : candidates) {
    candidate.tokens = 0;
    order_.push_back(&candidate);
  }
  const bool is_fifo = limits.policy == QueuePolicy::kFifo;
  std::ranges::sort(order_, {}, [is_fifo](const PrefillCandidate* candidate) {
    return std::tuple(is_fifo ? 0 : candidate->left, candidate->arrival);
  });
  Budget budget(pace, limits);
  PrefillCandidate& first = **std::ranges::min_element(order_, {}, &PrefillCandidate::arrival);
  if (first.arrival != first_arrival_ || &first == order_.front()) owed_seconds_ = 0;
  first_arrival_ = first.arrival;
  if (&first != order_.front()) {
    owed_seconds_ = std::min(owed_seconds_ + kFirstArrivalShare * limits.seconds, limits.seconds);
    const bool is_most = owed_seconds_ == limits.seconds;
    owed_seconds_ -= budget.Give(first, owed_seconds_, is_most ? kLeastPrefill : kPrefillGranule);
  }
  for (PrefillCandidate* candidate : order_) budget.Give(*candidate, budget.seconds());
  if (!budget.has_given()) {  // the time is too short for any: somebody must go on
    order_.front()->tokens =
        std::min({order_.front()->left, order_.front()->most, limits.tokens, kLeastPrefill});
  }
}

}  // namespace weir
