// One event of an OpenAI completion stream, chat or not.
//
// Comes from outside: any bytes give an event or an Error. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

struct StreamUsage {
  uint32_t prompt_tokens = 0;
  uint32_t cached_tokens = 0;  // 0 where the server does not say
  uint32_t answer_tokens = 0;
};

struct StreamEvent {
  std::string text;  // what it adds to the answer, thoughts included
  std::optional<StreamUsage> usage = std::nullopt;
  std::optional<std::string> error = std::nullopt;  // the server gave up
  bool is_end = false;                              // "[DONE]"
};

// kCorrupt: not such an event.
[[nodiscard]] Result<StreamEvent> ParseStreamEvent(std::string_view data);

// The message of an OpenAI error body; of anything else its first bytes.
[[nodiscard]] std::string ErrorMessage(std::string_view body);

}  // namespace weir
