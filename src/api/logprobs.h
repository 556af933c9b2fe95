// Log-probabilities in OpenAI's two shapes.
//
// Chat: one object a token with its text, bytes and alternatives. Completions: four parallel
// lists. Control tokens are shown by name; bytes that are no whole character are U+FFFD in a chat
// (its bytes are exact) and "bytes:\xe2\x80" in completions, as OpenAI writes them.
#pragma once

#include <span>
#include <string>

#include "api/answer_text.h"
#include "api/json_body.h"
#include "model/sampler.h"
#include "text/tokenizer.h"

namespace weir {

// {"content": [...], "refusal": null} for the tokens of a chunk or answer. Of an answer whose
// leading space is stripped, `leading` kStrip belongs to the first token only.
[[nodiscard]] Json ChatLogprobs(const Tokenizer& tokenizer, std::span<const SampledToken> tokens,
                                LeadingSpace leading);

// Collects tokens, token_logprobs, top_logprobs and text_offset. Offsets count characters and go
// on from one Take() to the next, as the chunks of a stream want it.
class CompletionLogprobs {
 public:
  explicit CompletionLogprobs(const Tokenizer& tokenizer) : tokenizer_(tokenizer) { Clear(); }

  void Add(const SampledToken& sampled);
  // A token without a probability: the first of a prompt.
  void AddUnknown(TokenId token);
  // What was added since the last Take().
  [[nodiscard]] Json Take();

 private:
  void Clear();
  void AddText(TokenId token);

  const Tokenizer& tokenizer_;
  Json block_;
  size_t offset_ = 0;
};

}  // namespace weir
