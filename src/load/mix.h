// Classes of requests as text: "100x64-512:64,long=4x16384:32".
//
//   [NAME=]COUNTxPROMPT:ANSWER, joined by commas; PROMPT is a number of tokens or a range of them.
//
// Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct MixClass {
  std::string name;  // its text, unless named
  uint32_t count = 0;
  uint32_t prompt_tokens_min = 0;
  uint32_t prompt_tokens_max = 0;
  uint32_t answer_tokens = 0;
};

// kInvalidArgument, naming the part.
[[nodiscard]] Result<std::vector<MixClass>> ParseMix(std::string_view text);

}  // namespace weir
