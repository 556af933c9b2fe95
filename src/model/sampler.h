// Draws the next token from a row of logits.
//
// Order: bias, penalties, ban, temperature, top_k, top_p, min_p, draw. Greedy (temperature 0) takes
// the largest logit, the smallest id among equals. Randomness is counter-based, keyed by (seed,
// choice, position): the same request gives the same sample whatever ran beside it. Logits that are
// not numbers are never drawn as long as one is.
//
// Ownership: one Sampler a request; holds the counts of generated and prompt tokens for penalties.
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/logits_row.h"

namespace weir {

// Added to the logit of one token.
struct LogitBias {
  TokenId token;
  float bias = 0;  // [-100, 100], or -infinity: never drawn

  friend bool operator==(const LogitBias&, const LogitBias&) = default;
};
inline constexpr float kLogitBiasMost = 100;  // OpenAI's: as good as a must or a ban

struct SamplingParams {
  float temperature = 1.0F;        // >= 0; 0: greedy
  float top_p = 1.0F;              // (0, 1]: fewest tokens whose probabilities sum to it
  uint32_t top_k = 0;              // 0: off
  float min_p = 0.0F;              // [0, 1): of the likeliest token's probability
  float repeat_penalty = 1.0F;     // > 0, over prompt and answer tokens (arXiv:1909.05858, 4.1)
  float frequency_penalty = 0.0F;  // [-2, 2], a use of the token in the answer (OpenAI)
  float presence_penalty = 0.0F;   // [-2, 2], once for a token used in the answer (OpenAI)
  uint64_t seed = 0;
  uint32_t choice = 0;                     // tells the answers to one prompt apart
  std::vector<LogitBias> logit_bias = {};  // each token once
};

// kInvalidArgument, naming the parameter, its value and its range.
[[nodiscard]] Result<void> CheckSamplingParams(const SamplingParams& params);

struct TokenLogprob {
  TokenId token;
  float logprob = 0;
};

// Log-probabilities are of the model's own distribution (before bias, penalties and temperature),
// never below kLeastLogprob.
struct SampledToken {
  TokenId token;
  float logprob = 0;
  std::vector<TokenLogprob> top;  // `top_count` entries, most likely first
};

inline constexpr float kLeastLogprob = -9999.0F;  // OpenAI's "practically never"

class Sampler {
 public:
  Sampler(const SamplingParams& params, std::span<const TokenId> prompt);

  // `position` is that of the token to come. `banned` tokens cannot be drawn. The drawn token joins
  // the answer that penalties count. `top_count` set: its log-probability, with so many of the
  // likeliest; else logprob is 0 and costs nothing.
  [[nodiscard]] SampledToken Sample(std::span<const float> logits, uint32_t position,
                                    std::span<const TokenId> banned,
                                    std::optional<uint32_t> top_count = std::nullopt);

 private:
  // The logits with bias, penalties and bans: `logits` itself when nothing changes, else row_.
  std::span<const float> Adjust(std::span<const float> logits, std::span<const TokenId> banned);
  [[nodiscard]] uint32_t FirstAllowed(size_t vocab_size, std::span<const TokenId> banned) const;
  [[nodiscard]] uint32_t Draw(std::span<const float> row, float max, double uniform);
  void CollectCandidates(std::span<const float> row, float max);
  [[nodiscard]] float MinPFloor(float max) const;
  double WeighCandidates(float max);
  bool CutCandidates(double wanted);
  void CountAnswer(TokenId token);

  SamplingParams params_;
  std::vector<std::pair<TokenId, uint32_t>> answer_counts_;  // sorted by token; empty if unused
  std::vector<TokenId> prompt_tokens_;                       // sorted, unique; empty if unused
  std::vector<float> row_;                                   // scratch
  std::vector<RowEntry> candidates_;                         // scratch: weights, best first
};

// log softmax(logits)[token] and the top entries of a row, for echo and perplexity.
[[nodiscard]] SampledToken LogprobOf(std::span<const float> logits, TokenId token,
                                     uint32_t top_count);

}  // namespace weir
