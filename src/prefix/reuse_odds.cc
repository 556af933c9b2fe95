#include "prefix/reuse_odds.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace weir {
namespace {

double LengthOf(uint32_t phase) {
  return phase == 0 ? 1 : std::ldexp(1.0, static_cast<int>(phase) - 1);
}

}  // namespace

ReuseOdds::ReuseOdds(std::span<const double> priors) : kinds_(priors.size()) {
  for (size_t i = 0; i < priors.size(); ++i) {
    WEIR_CHECK(priors[i] > 0 && priors[i] < 1);
    kinds_[i].prior = priors[i];
    Solve(kinds_[i]);
  }
}

void ReuseOdds::NoteWait(uint32_t kind, uint32_t begin, uint32_t end, double count) {
  for (uint32_t phase = begin; phase < end; ++phase) kinds_[kind].came[phase] += count;
}

void ReuseOdds::NoteUse(uint32_t kind, uint32_t phase, double count) {
  kinds_[kind].used[phase] += count;
}

void ReuseOdds::Learn() {
  for (Kind& kind : kinds_) {
    Solve(kind);
    if (kind.came[0] < kMostRemembered) continue;
    for (double& count : kind.came) count /= 2;
    for (double& count : kind.used) count /= 2;
  }
}

void ReuseOdds::Solve(Kind& kind) {
  std::array<double, kPhaseCount> chance{};
  for (uint32_t phase = 0; phase < kPhaseCount; ++phase) {
    const double used = kind.used[phase] + kPriorCount * kind.prior;
    chance[phase] = std::min(used / (kind.came[phase] + kPriorCount), 1.0);
  }
  for (uint32_t begin = 0; begin < kPhaseCount; ++begin) {
    double waits = 1;  // chance of coming to the phase
    double uses = 0;
    double time = 0;
    kind.worth[begin] = 0;
    for (uint32_t phase = begin; phase < kPhaseCount; ++phase) {
      time += waits * LengthOf(phase) * (1 - chance[phase] / 2);  // uses come halfway, on average
      uses += waits * chance[phase];
      waits *= 1 - chance[phase];
      kind.worth[begin] = std::max(kind.worth[begin], uses / time);
    }
  }
  // One peak: what is noise beside it is smoothed upwards.
  const auto peak = std::max_element(kind.worth.begin(), kind.worth.end());
  kind.peak = static_cast<uint32_t>(peak - kind.worth.begin());
  for (uint32_t p = 1; p < kind.peak; ++p) {
    kind.worth[p] = std::max(kind.worth[p], kind.worth[p - 1]);
  }
  for (uint32_t p = kPhaseCount - 1; p > kind.peak; --p) {
    kind.worth[p - 1] = std::max(kind.worth[p - 1], kind.worth[p]);
  }
}

}  // namespace weir
