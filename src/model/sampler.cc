#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "model/counter_rng.h"

namespace weir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kFloatMax = std::numeric_limits<float>::max();

size_t IndexOf(TokenId token) { return static_cast<size_t>(token.value()); }

// Index of the first entry whose running sum passes `target`, else of the last entry above 0.
// weight(i) >= 0, not all 0.
template <class Weight>
size_t WalkTo(double target, size_t count, const Weight& weight) {
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    const double w = weight(i);
    if (!(w > 0)) continue;
    sum += w;
    last = i;
    if (sum > target) break;
  }
  return last;
}

// Draws from the whole row, in id order: finds the block, then the entry in it.
uint32_t DrawFromAll(std::span<const float> row, float max, float temperature, double uniform) {
  constexpr size_t kBlock = 2048;
  std::vector<double> block_sums;
  double total = 0;
  for (size_t begin = 0; begin < row.size(); begin += kBlock) {
    const auto block = row.subspan(begin, std::min(kBlock, row.size() - begin));
    block_sums.push_back(SumOfExp(block, max, temperature));
    total += block_sums.back();
  }
  const double target = uniform * total;
  const size_t at = WalkTo(target, block_sums.size(), [&](size_t i) { return block_sums[i]; });
  double before = 0;
  for (size_t i = 0; i < at; ++i) before += block_sums[i];
  const size_t begin = at * kBlock;
  const size_t count = std::min(kBlock, row.size() - begin);
  return static_cast<uint32_t>(begin + WalkTo(target - before, count, [&](size_t i) {
                                 const float x = (CleanLogit(row[begin + i]) - max) / temperature;
                                 return static_cast<double>(ExpNonPositive(x));
                               }));
}

}  // namespace

Result<void> CheckSamplingParams(const SamplingParams& params) {
  const auto check = [](bool is_good, const char* name, float value, const char* range) {
    if (is_good) return Result<void>();
    return Result<void>(Fail(ErrorCode::kInvalidArgument,
                             fmt::format("{} is {}, but must be {}", name, value, range)));
  };
  const auto within = [](float x, float low, float high) { return x >= low && x <= high; };
  const float repeat = params.repeat_penalty;
  WEIR_TRY(check(within(params.temperature, 0, kFloatMax), "temperature", params.temperature,
                 "0 or more"));
  WEIR_TRY(
      check(params.top_p > 0 && params.top_p <= 1, "top_p", params.top_p, "above 0 and at most 1"));
  WEIR_TRY(check(params.min_p >= 0 && params.min_p < 1, "min_p", params.min_p,
                 "at least 0 and below 1"));
  WEIR_TRY(check(repeat > 0 && repeat <= kFloatMax, "repeat_penalty", repeat, "above 0"));
  WEIR_TRY(check(within(params.frequency_penalty, -2, 2), "frequency_penalty",
                 params.frequency_penalty, "from -2 to 2"));
  WEIR_TRY(check(within(params.presence_penalty, -2, 2), "presence_penalty",
                 params.presence_penalty, "from -2 to 2"));
  for (const LogitBias& entry : params.logit_bias) {
    WEIR_TRY(check(within(entry.bias, -kLogitBiasMost, kLogitBiasMost) || entry.bias == -kInfinity,
                   "a logit_bias", entry.bias, "from -100 to 100"));
  }
  return {};
}

Sampler::Sampler(const SamplingParams& params, std::span<const TokenId> prompt) : params_(params) {
  if (params_.repeat_penalty == 1.0F) return;
  prompt_tokens_.assign(prompt.begin(), prompt.end());
  std::sort(prompt_tokens_.begin(), prompt_tokens_.end());
  prompt_tokens_.erase(std::unique(prompt_tokens_.begin(), prompt_tokens_.end()),
                       prompt_tokens_.end());
}

SampledToken Sampler::Sample(std::span<const float> logits, uint32_t position,
                             std::span<const TokenId> banned, std::optional<uint32_t> top_count) {
  const std::span<const float> row = Adjust(logits, banned);
  const float max = RowMax(row);
  uint32_t index = 0;
  if (max == -kInfinity) {
    index = FirstAllowed(row.size(), banned);
  } else if (params_.temperature > 0) {
    index = Draw(row, max, UniformAt(params_.seed, position, params_.choice));
  } else {
    while (CleanLogit(row[index]) != max) ++index;
  }
  const TokenId token(static_cast<int32_t>(index));
  CountAnswer(token);
  if (top_count) return LogprobOf(logits, token, *top_count);
  return {.token = token, .logprob = 0, .top = {}};
}

// The smallest id that is neither banned nor biased away, when no logit tells tokens apart.
uint32_t Sampler::FirstAllowed(size_t vocab_size, std::span<const TokenId> banned) const {
  std::vector<bool> is_out(vocab_size);
  for (const TokenId token : banned) is_out[IndexOf(token)] = true;
  for (const LogitBias& entry : params_.logit_bias) {
    if (entry.bias == -kInfinity) is_out[IndexOf(entry.token)] = true;
  }
  const auto allowed = std::find(is_out.begin(), is_out.end(), false);
  return allowed == is_out.end() ? 0 : static_cast<uint32_t>(allowed - is_out.begin());
}

std::span<const float> Sampler::Adjust(std::span<const float> logits,
                                       std::span<const TokenId> banned) {
  if (banned.empty() && params_.logit_bias.empty() && prompt_tokens_.empty() &&
      answer_counts_.empty()) {
    return logits;
  }
  row_.assign(logits.begin(), logits.end());
  for (const LogitBias& entry : params_.logit_bias) row_[IndexOf(entry.token)] += entry.bias;
  const auto repeat = [&](TokenId token) {
    float& logit = row_[IndexOf(token)];
    logit = logit > 0 ? logit / params_.repeat_penalty : logit * params_.repeat_penalty;
  };
  for (const TokenId token : prompt_tokens_) repeat(token);
  for (const auto& [token, count] : answer_counts_) {
    if (!std::binary_search(prompt_tokens_.begin(), prompt_tokens_.end(), token)) repeat(token);
    row_[IndexOf(token)] -=
        static_cast<float>(count) * params_.frequency_penalty + params_.presence_penalty;
  }
  for (const TokenId token : banned) row_[IndexOf(token)] = -kInfinity;
  return row_;
}

uint32_t Sampler::Draw(std::span<const float> row, float max, double uniform) {
  if (params_.top_k == 0 && params_.top_p >= 1 && params_.min_p <= 0) {
    return DrawFromAll(row, max, params_.temperature, uniform);
  }
  CollectCandidates(row, max);
  double total = 0;
  for (const RowEntry& candidate : candidates_) total += static_cast<double>(candidate.value);
  const size_t at = WalkTo(uniform * total, candidates_.size(),
                           [&](size_t i) { return static_cast<double>(candidates_[i].value); });
  return candidates_[at].index;
}

// Leaves what top_k, top_p and min_p let through in candidates_, with weights relative to the
// likeliest token's 1. top_p is of the mass that top_k left; without top_k that of the whole row.
void Sampler::CollectCandidates(std::span<const float> row, float max) {
  if (params_.top_k > 0) {
    TopEntries(row, params_.top_k, candidates_);
    CutCandidates(static_cast<double>(params_.top_p) * WeighCandidates(max));
    return;
  }
  const double row_mass = SumOfExp(row, max, params_.temperature);
  const double wanted = static_cast<double>(params_.top_p) * row_mass;
  const float floor = MinPFloor(max);
  // Sorting a row costs more than a decode step may; a bar that leaves out most of what top_p
  // leaves out spares it. Should it have left out too much, it is lowered.
  for (const double share : {0.8, 0.05, 0.0}) {
    const double tail_mass = share * std::max(row_mass - wanted, 0.0);
    const float bar =
        tail_mass > 0 ? std::max(floor, TailBar(row, max, params_.temperature, tail_mass)) : floor;
    EntriesFrom(row, bar, candidates_);
    WeighCandidates(max);
    if (CutCandidates(wanted) || bar == floor) return;
  }
}

// A logit below which no token passes min_p; lowered by more than its arithmetic may be off.
float Sampler::MinPFloor(float max) const {
  if (params_.min_p <= 0) return -kInfinity;
  const float floor = max + params_.temperature * (std::log(params_.min_p) - 1e-3F);
  return floor -
         4 * std::numeric_limits<float>::epsilon() * std::max(std::abs(max), std::abs(floor));
}

// Turns logits into weights; returns their sum.
double Sampler::WeighCandidates(float max) {
  double mass = 0;
  for (RowEntry& entry : candidates_) {
    entry.value = ExpNonPositive((entry.value - max) / params_.temperature);
    mass += static_cast<double>(entry.value);
  }
  return mass;
}

// Keeps the fewest candidates whose weights sum to `wanted` (all if top_p is 1) and that pass
// min_p, at least one. False when more entries of the row might have to be kept.
bool Sampler::CutCandidates(double wanted) {
  size_t kept = 0;
  double sum = 0;
  while (kept < candidates_.size() && (kept == 0 || params_.top_p >= 1 || sum < wanted) &&
         (kept == 0 || candidates_[kept].value >= params_.min_p)) {
    sum += static_cast<double>(candidates_[kept++].value);
  }
  const bool is_whole = kept < candidates_.size() || (params_.top_p < 1 && sum >= wanted);
  candidates_.resize(kept);
  return is_whole;
}

void Sampler::CountAnswer(TokenId token) {
  if (params_.repeat_penalty == 1.0F && params_.frequency_penalty == 0.0F &&
      params_.presence_penalty == 0.0F) {
    return;
  }
  const auto at = std::lower_bound(answer_counts_.begin(), answer_counts_.end(), token,
                                   [](const auto& entry, TokenId t) { return entry.first < t; });
  if (at != answer_counts_.end() && at->first == token) {
    ++at->second;
  } else {
    answer_counts_.insert(at, {token, 1});
  }
}

SampledToken LogprobOf(std::span<const float> logits, TokenId token, uint32_t top_count) {
  WEIR_CHECK(token.value() >= 0 && IndexOf(token) < logits.size());
  const double log_sum = LogSumExp(logits);
  const auto logprob = [&](float logit) {
    const double value = static_cast<double>(CleanLogit(logit)) - log_sum;
    return value > kLeastLogprob ? static_cast<float>(value) : kLeastLogprob;  // also NaN
  };
  SampledToken result{.token = token, .logprob = logprob(logits[IndexOf(token)]), .top = {}};
  if (top_count > 0) {
    std::vector<RowEntry> top;
    TopEntries(logits, top_count, top);
    result.top.reserve(top.size());
    for (const RowEntry& entry : top) {
      result.top.push_back({TokenId(static_cast<int32_t>(entry.index)), logprob(entry.value)});
    }
  }
  return result;
}

}  // namespace weir
