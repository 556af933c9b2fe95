// Upper and lower case as Python has them, character by character (no final sigma rule).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "jinja/text.h"

namespace weir::jinja {

[[nodiscard]] std::string ToUpper(std::string_view text);
[[nodiscard]] std::string ToLower(std::string_view text);
// The first character upper, the others lower.
[[nodiscard]] std::string Capitalize(std::string_view text);
// The first letter of each run of letters upper, the others lower.
[[nodiscard]] std::string ToTitle(std::string_view text);

enum class LetterCase : uint8_t { kLower, kUpper };
// Whether there are letters with case and all of them have this one.
[[nodiscard]] bool IsAllCase(std::string_view text, LetterCase wanted);

// `changed`, made from `text`: its origin is the worst of the parts.
[[nodiscard]] inline Text WithOrigin(std::string changed, const Text& text) {
  return Text(std::move(changed), text.WorstOrigin());
}

}  // namespace weir::jinja
