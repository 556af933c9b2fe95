#include "sched/step_pace.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr double kFade = 0.9;            // of what was known, a step
constexpr double kLeastCost = 1e-9;      // seconds a token: the clock's grain
constexpr uint32_t kTellingTokens = 16;  // fewer say little about many

}  // namespace

void StepPace::Record(uint32_t decode_rows, uint32_t prefill_tokens, double token_depth,
                      double seconds) {
  if (prefill_tokens == 0) {
    decode_seconds_ = decode_seconds_ == 0 ? seconds : 0.5 * (decode_seconds_ + seconds);
    return;
  }
  if (prefill_tokens < kTellingTokens && is_known()) return;
  const double decode = decode_rows > 0 ? std::min(decode_seconds_, 0.5 * seconds) : 0;
  RecordPrefill(prefill_tokens, token_depth,
                std::max((seconds - decode) / prefill_tokens, kLeastCost));
}

void StepPace::RecordPrefill(double tokens, double depth, double cost) {
  for (double* sum : {&weight_, &depth_, &depth_squared_, &cost_, &depth_cost_}) *sum *= kFade;
  weight_ += tokens;
  depth_ += tokens * depth;
  depth_squared_ += tokens * depth * depth;
  cost_ += tokens * cost;
  depth_cost_ += tokens * depth * cost;
  Fit();
}

// Neither a negative slope nor a negative flat cost is possible: the line then goes through the
// mean, or through the origin and the mean.
void StepPace::Fit() {
  const double mean_depth = depth_ / weight_;
  const double mean_cost = cost_ / weight_;
  const double variance = depth_squared_ / weight_ - mean_depth * mean_depth;
  const double covariance = depth_cost_ / weight_ - mean_depth * mean_cost;
  slope_ = variance > 1 ? std::max(covariance / variance, 0.0) : 0;
  flat_ = mean_cost - slope_ * mean_depth;
  if (flat_ < 0) {
    flat_ = 0;
    slope_ = mean_cost / mean_depth;
  }
}

double StepPace::PrefillSeconds(const PrefillRun& run) const {
  return run.tokens * (flat_ + slope_ * run.depth());
}

// tokens * (flat + slope * (first + tokens / 2)) = seconds, solved for tokens.
double StepPace::TokensIn(double seconds, uint32_t first_position) const {
  const double at_first = std::max(flat_ + slope_ * first_position, kLeastCost);
  // The root of the quadratic in the form that has no division by a vanishing slope.
  return 2 * seconds / (at_first + std::sqrt(at_first * at_first + 2 * slope_ * seconds));
}

}  // namespace weir
