// A rendered prompt as one string, for tests that do not ask who wrote what.
#pragma once

#include <string>

#include "text/prompt_part.h"

namespace weir {

inline std::string JoinPrompt(const Prompt& prompt) {
  std::string joined;
  for (const PromptPart& part : prompt) joined += part.text;
  return joined;
}

}  // namespace weir
