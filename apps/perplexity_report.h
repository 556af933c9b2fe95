// The running and final figures of `weir perplexity`, on standard output.
#pragma once

#include <cstdint>
#include <vector>

#include "token_score.h"

namespace weir {

class PerplexityReport {
 public:
  explicit PerplexityReport(bool has_base) : has_base_(has_base) {}

  void Add(float logprob) { nll_.Add(-static_cast<double>(logprob)); }
  void AddCompared(const RowDistance& distance, float base_logprob);

  // "[3]24.1857," so far; with a base a line of its figures.
  void PrintRunning(uint32_t windows) const;
  void PrintFinal();

 private:
  bool has_base_;
  RunningMean nll_;
  RunningMean base_nll_;
  RunningMean nll_difference_;  // ln(PPL / PPL of the base)
  RunningMean kl_;
  RunningMean squared_probability_difference_;
  RunningMean same_top_;
  std::vector<double> kl_values_;
};

}  // namespace weir
