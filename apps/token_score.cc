#include "token_score.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/logits_row.h"

namespace weir {
namespace {

float Logprob(float logit, double log_sum) {
  return static_cast<float>(static_cast<double>(CleanLogit(logit)) - log_sum);
}

// The likeliest; the smallest id among equals.
TokenId TopOf(const std::vector<TokenLogprob>& listed) {
  const auto top = std::max_element(
      listed.begin(), listed.end(),
      [](const TokenLogprob& a, const TokenLogprob& b) { return a.logprob < b.logprob; });
  return top == listed.end() ? TokenId() : top->token;
}

}  // namespace

SavedRow MakeSavedRow(std::span<const float> logits, TokenId target) {
  const double log_sum = LogSumExp(logits);
  SavedRow row;
  row.target_logprob = Logprob(logits[static_cast<size_t>(target.value())], log_sum);
  for (size_t i = 0; i < logits.size(); ++i) {
    const float logprob = Logprob(logits[i], log_sum);
    if (logprob > kListedLogprob) {
      row.listed.push_back({TokenId(static_cast<int32_t>(i)), logprob});
    }
  }
  return row;
}

RowDistance CompareRow(std::span<const float> logits, TokenId target, const SavedRow& base) {
  const double log_sum = LogSumExp(logits);
  RowDistance distance;
  distance.target_logprob = Logprob(logits[static_cast<size_t>(target.value())], log_sum);
  for (const TokenLogprob& entry : base.listed) {
    WEIR_CHECK(static_cast<size_t>(entry.token.value()) < logits.size());
    const float here = Logprob(logits[static_cast<size_t>(entry.token.value())], log_sum);
    distance.kl += std::exp(static_cast<double>(entry.logprob)) *
                   (static_cast<double>(entry.logprob) - static_cast<double>(here));
  }
  std::vector<RowEntry> top;
  TopEntries(logits, 1, top);
  distance.has_same_top =
      !top.empty() && TopOf(base.listed).value() == static_cast<int32_t>(top[0].index);
  return distance;
}

double RunningMean::Mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double RunningMean::StandardError() const {
  if (count_ < 2) return 0;
  const double variance = squares_ / static_cast<double>(count_) - Mean() * Mean();
  return variance > 0 ? std::sqrt(variance / static_cast<double>(count_ - 1)) : 0;
}

}  // namespace weir
