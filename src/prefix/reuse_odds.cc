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

ReuseOdds::ReuseOdds(std::span<const double> priors, uint32_t family_size)
    : kinds_(priors.size()), family_size_(family_size) {
  WEIR_CHECK(family_size > 0 && priors.size() % family_size == 0);
  for (size_t i = 0; i < priors.size(); ++i) {
    WEIR_CHECK(priors[i] > 0 && priors[i] < 1);
    kinds_[i].prior = priors[i];
  }
  SolveAll();
}

void ReuseOdds::NoteWait(uint32_t kind, uint32_t begin, uint32_t end, double count) {
  for (uint32_t phase = begin; phase < end; ++phase) kinds_[kind].came[phase] += count;
}

void ReuseOdds::NoteUse(uint32_t kind, uint32_t phase, double count) {
  kinds_[kind].used[phase] += count;
}

void ReuseOdds::Learn() {
  SolveAll();
  for (Kind& kind : kinds_) {
    if (kind.came[0] < kMostRemembered) continue;
    for (double& count : kind.came) count /= 2;
    for (double& count : kind.used) count /= 2;
  }
}

void ReuseOdds::SolveAll() {
  for (size_t i = 0; i < kinds_.size(); ++i) {
    const auto family =
        std::span<const Kind>(kinds_).subspan(i / family_size_ * family_size_, family_size_);
    Chances chances;
    chances.fill(kinds_[i].prior);
    if (family_size_ > 1) chances = Estimate(family, chances);
    Solve(kinds_[i], Estimate(std::span(&kinds_[i], 1), chances));
  }
}

ReuseOdds::Chances ReuseOdds::Estimate(std::span<const Kind> kinds, const Chances& prior) {
  Chances chances;
  for (uint32_t phase = 0; phase < kPhaseCount; ++phase) {
    double came = kPriorCount;
    double used = kPriorCount * prior[phase];
    for (const Kind& kind : kinds) {
      came += kind.came[phase];
      used += kind.used[phase];
    }
    chances[phase] = std::min(used / came, 1.0);
  }
  return chances;
}

void ReuseOdds::Solve(Kind& kind, const Chances& chance) {
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
