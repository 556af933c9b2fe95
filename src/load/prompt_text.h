// Text for the messages of a plan: common words, about one token each with most vocabularies.
//
// How many words make a token is asked of the server (Calibration); a piece of text is the same
// wherever its seed is, at the same place of a message. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "load/load_plan.h"

namespace weir {

// tokens = overhead_tokens + words / words_per_token
struct Calibration {
  double words_per_token = 1;
  double overhead_tokens = 0;  // of the template and BOS
};

// Two prompts as a server counted them. kInvalidArgument: they make no straight line.
struct CountedPrompt {
  uint32_t words = 0;
  uint32_t tokens = 0;
};
[[nodiscard]] Result<Calibration> Calibrate(const CountedPrompt& few, const CountedPrompt& many);

// `count` words from the start of the text that `seed` names.
[[nodiscard]] std::string WordText(uint64_t seed, uint32_t count);

// A message that a server with this calibration counts as about its pieces' last end_tokens, with
// the overhead; at least one word.
[[nodiscard]] std::string PromptText(std::span<const TextPiece> pieces,
                                     const Calibration& calibration);

}  // namespace weir
