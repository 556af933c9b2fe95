// One request served by an engine of this process, to a caller that waits for it.
#pragma once

#include <functional>

#include "base/result.h"
#include "engine/engine.h"

namespace weir {

struct AnswerTiming {
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // of these, their KV was there
  uint32_t answer_tokens = 0;
  double prompt_seconds = 0;  // until the prompt was read
  double answer_seconds = 0;  // from then to the last token

  // "20 prompt tokens (8 cached) in 0.05 s (240.0 t/s), 40 tokens in 0.60 s (66.7 t/s)"; the first
  // speed is of what was not cached.
  [[nodiscard]] std::string Text() const;
};

struct LocalAnswer {
  FinishReason reason = FinishReason::kStop;  // kStop also when on_token ended it
  AnswerTiming timing;
};

// Calls on_token on the caller's thread as tokens come; false ends the answer. `on_submitted` gets
// the id, for cancelling from elsewhere; may be empty. Errors: Submit's, or the one that ended the
// request.
[[nodiscard]] Result<LocalAnswer> AnswerLocally(Engine& engine, GenerationRequest request,
                                                const std::function<void(RequestId)>& on_submitted,
                                                const std::function<bool(TokenId)>& on_token);

}  // namespace weir
