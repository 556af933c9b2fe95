#include "perplexity_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace weir {

void PerplexityReport::AddCompared(const RowDistance& distance, float base_logprob) {
  const double here = distance.target_logprob;
  const double base = base_logprob;
  nll_.Add(-here);
  base_nll_.Add(-base);
  nll_difference_.Add(base - here);
  kl_.Add(distance.kl);
  kl_values_.push_back(distance.kl);
  const double difference = std::exp(here) - std::exp(base);
  squared_probability_difference_.Add(difference * difference);
  same_top_.Add(distance.has_same_top ? 1 : 0);
}

void PerplexityReport::PrintRunning(uint32_t windows) const {
  if (!has_base_) {
    fmt::print("[{}]{:.4f},", windows, std::exp(nll_.Mean()));
  } else {
    fmt::print("{:>5}  PPL {:>10.4f}  base {:>10.4f}  KL {:>10.6f}  same top {:>7.3f} %\n", windows,
               std::exp(nll_.Mean()), std::exp(base_nll_.Mean()), kl_.Mean(),
               100 * same_top_.Mean());
  }
  std::fflush(stdout);
}

void PerplexityReport::PrintFinal() {
  const double perplexity = std::exp(nll_.Mean());
  fmt::print("\nFinal estimate: PPL = {:.4f} +/- {:.5f}\n", perplexity,
             perplexity * nll_.StandardError());
  if (!has_base_) return;
  const auto line = [](const char* name, double value, double error, const char* unit) {
    fmt::print("{:<22}{:>12.6f} +/- {:.6f}{}\n", name, value, error, unit);
  };
  const double base = std::exp(base_nll_.Mean());
  const double rms = std::sqrt(squared_probability_difference_.Mean());
  line("PPL of the base", base, base * base_nll_.StandardError(), "");
  line("ln(PPL / PPL of base)", nll_difference_.Mean(), nll_difference_.StandardError(), "");
  line("KL divergence, mean", kl_.Mean(), kl_.StandardError(), "");
  std::sort(kl_values_.begin(), kl_values_.end());
  for (const auto& [name, share] :
       {std::pair("KL divergence, median", 0.5), std::pair("KL divergence, 99 %", 0.99),
        std::pair("KL divergence, 99.9 %", 0.999), std::pair("KL divergence, largest", 1.0)}) {
    const double last = static_cast<double>(kl_values_.size()) - 1;
    fmt::print("{:<22}{:>12.6f}\n", name,
               kl_values_.empty() ? 0 : kl_values_[static_cast<size_t>(last * share)]);
  }
  line("Probability, RMS diff.", 100 * rms,
       rms > 0 ? 50 * squared_probability_difference_.StandardError() / rms : 0, " %");
  line("Same top token", 100 * same_top_.Mean(), 100 * same_top_.StandardError(), " %");
}

}  // namespace weir
