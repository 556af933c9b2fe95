#include "text/byte_token.h"

#include <array>

namespace weir {
namespace {

struct ByteLevelTable {
  std::array<uint16_t, 256> code_points;       // by byte
  std::array<std::array<char, 2>, 256> texts;  // UTF-8, by byte; the second char unused below 128
  std::array<int16_t, 0x144> bytes;            // by code point; -1: stands for no byte

  constexpr ByteLevelTable() : code_points{}, texts{}, bytes{} {
    for (int16_t& byte : bytes) byte = -1;
    uint16_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      const uint16_t code_point = printable ? static_cast<uint16_t>(byte) : next++;
      code_points[byte] = code_point;
      bytes[code_point] = static_cast<int16_t>(byte);
      if (code_point < 0x80) {
        texts[byte] = {static_cast<char>(code_point), 0};
      } else {
        texts[byte] = {static_cast<char>(0xC0 | (code_point >> 6)),
                       static_cast<char>(0x80 | (code_point & 0x3F))};
      }
    }
  }
};

constexpr ByteLevelTable kByteLevel;

std::optional<uint8_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<uint8_t> ByteOfToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto high = HexDigit(text[3]);
  const auto low = HexDigit(text[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

std::string_view ByteLevelCharacter(uint8_t byte) {
  return {kByteLevel.texts[byte].data(), kByteLevel.code_points[byte] < 0x80 ? 1U : 2U};
}

std::optional<std::string> BytesOfByteLevelText(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    uint32_t code_point = static_cast<uint8_t>(text[i]);
    if (code_point >= 0x80) {
      if (code_point < 0xC2 || code_point > 0xC5 || i + 1 == text.size()) return std::nullopt;
      const uint8_t next = static_cast<uint8_t>(text[++i]);
      if ((next & 0xC0) != 0x80) return std::nullopt;
      code_point = (code_point & 0x1F) << 6 | (next & 0x3F);
    }
    if (code_point >= kByteLevel.bytes.size() || kByteLevel.bytes[code_point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(kByteLevel.bytes[code_point]));
  }
  return bytes;
}

}  // namespace weir
