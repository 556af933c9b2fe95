#include "sched/step_pace.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr double kFade = 0.9;           // of what was known, a step
constexpr double kLeastCost = 1e-9;     // seconds a token: the clock's grain
constexpr uint32_t kTellingTokens = 8;  // fewer say little about many

}  // namespace

void FadingLine::Add(double weight, double x, double y) {
  for (double* sum : {&weight_, &x_, &xx_, &y_, &xy_}) *sum *= kFade;
  weight_ += weight;
  x_ += weight * x;
  xx_ += weight * x * x;
  y_ += weight * y;
  xy_ += weight * x * y;
  const double mean_x = x_ / weight_;
  const double mean_y = y_ / weight_;
  const double variance = xx_ / weight_ - mean_x * mean_x;
  const double covariance = xy_ / weight_ - mean_x * mean_y;
  slope_ = variance > 1e-6 * (1 + mean_x * mean_x) ? std::max(covariance / variance, 0.0) : 0;
  flat_ = mean_y - slope_ * mean_x;
  if (flat_ >= 0) return;
  flat_ = 0;  // through the origin and the mean
  slope_ = mean_y / mean_x;
}

void StepPace::Record(uint32_t decode_rows, uint32_t prefill_tokens, double depth, double seconds) {
  if (prefill_tokens == 0) return decode_seconds_.Add(1, decode_rows, seconds);
  if (prefill_tokens < kTellingTokens && is_known()) return;
  const double base = std::min(decode_seconds_.At(decode_rows), 0.5 * seconds);
  token_seconds_.Add(prefill_tokens, depth,
                     std::max((seconds - base) / prefill_tokens, kLeastCost));
}

double StepPace::PrefillSeconds(const PrefillRun& run) const {
  return run.tokens * token_seconds_.At(run.depth());
}

// tokens * (flat + slope * (first + tokens / 2)) = seconds, solved for tokens.
double StepPace::TokensIn(double seconds, uint32_t first_position) const {
  const double at_first = std::max(token_seconds_.At(first_position), kLeastCost);
  // The root of the quadratic in the form that has no division by a vanishing slope.
  const double root = std::sqrt(at_first * at_first + 2 * token_seconds_.slope() * seconds);
  return 2 * seconds / (at_first + root);
}

}  // namespace weir
