// Draws the next token from a row of logits.
//
// Order: penalties, min_tokens/ignore_eos ban, temperature, top_k, top_p, min_p, draw. Greedy
// (temperature 0) takes the largest logit, the smallest id among equals. Randomness is
// counter-based, keyed by (seed, position): the same request gives the same sample whatever ran
// beside it.
//
// Ownership: one Sampler a request; holds the counts of generated and prompt tokens for penalties.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"

namespace weir {

struct SamplingParams {
  float temperature = 1.0F;        // >= 0; 0: greedy
  float top_p = 1.0F;              // (0, 1]
  uint32_t top_k = 0;              // 0: off
  float min_p = 0.0F;              // [0, 1)
  float repeat_penalty = 1.0F;     // > 0, over prompt and answer tokens
  float frequency_penalty = 0.0F;  // [-2, 2], over answer tokens (OpenAI)
  float presence_penalty = 0.0F;   // [-2, 2], over answer tokens (OpenAI)
  uint64_t seed = 0;
};

struct TokenLogprob {
  TokenId token;
  float logprob = 0;
};

// Log-probabilities are of the model's own distribution (before penalties and temperature).
struct SampledToken {
  TokenId token;
  float logprob = 0;
  std::vector<TokenLogprob> top;  // `top_count` entries, most likely first
};

class Sampler {
 public:
  Sampler(const SamplingParams& params, std::span<const TokenId> prompt);

  // `position` is that of the token to come. `banned` tokens cannot be drawn.
  // want_logprob false leaves logprob 0 and skips its cost.
  [[nodiscard]] SampledToken Sample(std::span<const float> logits, uint32_t position,
                                    std::span<const TokenId> banned, bool want_logprob,
                                    uint32_t top_count);

 private:
  SamplingParams params_;
  std::vector<std::pair<TokenId, uint32_t>> answer_counts_;  // sorted by token
  std::vector<TokenId> prompt_tokens_;                       // sorted, unique; empty if unused
  std::vector<TokenLogprob> candidates_;                     // scratch
};

// log softmax(logits)[token] and the top entries of a row, for echo and perplexity.
[[nodiscard]] SampledToken LogprobOf(std::span<const float> logits, TokenId token,
                                     uint32_t top_count);

}  // namespace weir
