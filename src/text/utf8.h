// The first character, or broken part of one, of a byte string. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

enum class Utf8State : uint8_t {
  kCharacter,   // byte_count bytes are one character
  kInvalid,     // byte_count bytes are a maximal part that no further byte can repair
  kUnfinished,  // the text ends inside a character of which byte_count bytes are here
};

struct Utf8Part {
  Utf8State state;
  uint32_t byte_count;  // 1..4
};

// Unicode table 3-7. Requires bytes not empty.
[[nodiscard]] Utf8Part FirstUtf8Part(std::string_view bytes);

// Bytes of the character that starts with `lead`, in a text known to be valid.
[[nodiscard]] inline uint32_t Utf8Length(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace weir
