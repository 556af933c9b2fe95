#include "sched/prefill_plan.h"

#include <algorithm>
#include <tuple>

namespace weir {
namespace {

constexpr double kFirstArrivalShare = 0.25;

// Rows that the time cuts, down to whole granules; fewer than one large granule to small ones.
uint32_t WholeGranules(uint32_t tokens, uint32_t small) {
  return tokens - tokens % (tokens >= kPrefillGranule ? kPrefillGranule : small);
}

// What is left of a step while it is handed out.
class Budget {
 public:
  Budget(const StepPace& pace, const PrefillLimits& limits)
      : pace_(pace), seconds_(limits.seconds), tokens_(limits.tokens) {}

  // As much as `seconds` allow in whole granules of `granule` at least, and not less than
  // `at_least`. Returns the seconds that it will take.
  double Give(PrefillCandidate& candidate, double seconds, uint32_t granule = kLeastPrefill,
              uint32_t at_least = 0) {
    const uint32_t most = std::min(candidate.left, candidate.most) - candidate.tokens;
    const uint32_t wanted = std::min(most, tokens_);
    const uint32_t position = candidate.position + candidate.tokens;
    uint32_t given = std::min(wanted, InTime(seconds, position));
    if (given < wanted) given = std::max(WholeGranules(given, granule), std::min(at_least, wanted));
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
    if (candidate.most > 0) order_.push_back(&candidate);
  }
  if (order_.empty()) return;
  const bool is_fifo = limits.policy == QueuePolicy::kFifo;
  std::ranges::sort(order_, {}, [is_fifo](const PrefillCandidate* candidate) {
    return std::tuple(is_fifo ? 0 : candidate->left, candidate->arrival);
  });
  Budget budget(pace, limits);
  PrefillCandidate& first = **std::ranges::min_element(order_, {}, &PrefillCandidate::arrival);
  if (first.arrival != first_arrival_ || &first == order_.front()) owed_seconds_ = 0;
  first_arrival_ = first.arrival;
  if (&first != order_.front()) {
    // A step's time, or what the least chunk takes, if that is more.
    const double most_owed =
        std::max(limits.seconds,
                 pace.PrefillSeconds({.first_position = first.position, .tokens = kLeastPrefill}));
    owed_seconds_ = std::min(owed_seconds_ + kFirstArrivalShare * limits.seconds, most_owed);
    const bool is_most = owed_seconds_ == most_owed;
    owed_seconds_ -= budget.Give(first, owed_seconds_, is_most ? kLeastPrefill : kPrefillGranule,
                                 is_most ? kLeastPrefill : 0);
  }
  for (PrefillCandidate* candidate : order_) budget.Give(*candidate, budget.seconds());
  if (!budget.has_given()) {  // the time is too short for any: somebody must go on
    order_.front()->tokens =
        std::min({order_.front()->left, order_.front()->most, limits.tokens, kLeastPrefill});
  }
}

}  // namespace weir
