// How vocabularies spell single bytes.
//
// SentencePiece: a token "<0x0A>". Byte-level BPE: every byte is written as one printable character
// (GPT-2's table: the printable Latin-1 bytes as themselves, the other 68 as U+0100 and up), so
// that any byte string is a UTF-8 text without white space. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// The byte that "<0x0A>" names; nullopt for any other text.
[[nodiscard]] std::optional<uint8_t> ByteOfToken(std::string_view text);

// The UTF-8 text of the character that stands for `byte` in byte-level vocabularies.
[[nodiscard]] std::string_view ByteLevelCharacter(uint8_t byte);

// The bytes that a byte-level text stands for; nullopt if a character stands for no byte.
[[nodiscard]] std::optional<std::string> BytesOfByteLevelText(std::string_view text);

}  // namespace weir
