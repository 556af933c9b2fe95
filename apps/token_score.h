// How well a row of logits foretells a token, and how far it is from another row that was saved.
//
// A saved row is sparse: log-probabilities above kListedLogprob, which leaves out at most 0.03 of
// the mass of a vocabulary of 262,144 and nearly always below 1e-4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/sampler.h"

namespace weir {

inline constexpr float kListedLogprob = -16.0F;

struct SavedRow {
  float target_logprob = 0;          // of the token that really followed
  std::vector<TokenLogprob> listed;  // ids ascending; holds the likeliest token
};

[[nodiscard]] SavedRow MakeSavedRow(std::span<const float> logits, TokenId target);

struct RowDistance {
  float target_logprob = 0;  // of the row at hand
  double kl = 0;             // sum over the listed tokens of p_base (log p_base - log p)
  bool has_same_top = false;
};

// Zero and true for the row that `base` was made of, exactly.
[[nodiscard]] RowDistance CompareRow(std::span<const float> logits, TokenId target,
                                     const SavedRow& base);

// Mean of values and its standard error.
class RunningMean {
 public:
  void Add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
  }
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] double Mean() const;
  [[nodiscard]] double StandardError() const;

 private:
  uint64_t count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
};

}  // namespace weir
