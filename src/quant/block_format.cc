#include "quant/block_format.h"

#include <array>
#include <cstring>

#include "base/check.h"

namespace weir {
namespace {

// 32 codes of 4 bits: the low nibbles are columns 0..15, the high ones 16..31.
void UnpackNibbles(const uint8_t* nibbles, uint8_t* codes) {
  for (size_t i = 0; i < 16; ++i) {
    codes[i] = nibbles[i] & 0x0fU;
    codes[i + 16] = nibbles[i] >> 4;
  }
}

// kFifthBits[b] has bit i of b as bit 4 of its byte i.
constexpr std::array<uint64_t, 256> kFifthBits = [] {
  std::array<uint64_t, 256> table = {};
  for (uint64_t byte = 0; byte < 256; ++byte) {
    for (uint64_t i = 0; i < 8; ++i) table[byte] |= (byte >> i & 1U) << (8 * i + 4);
  }
  return table;
}();

// Bit i of `high` is bit 4 of code i.
void AddFifthBits(const uint8_t* high, uint8_t* codes) {
  for (size_t byte = 0; byte < 4; ++byte) {
    uint64_t eight;
    std::memcpy(&eight, codes + byte * 8, 8);
    eight |= kFifthBits[high[byte]];
    std::memcpy(codes + byte * 8, &eight, 8);
  }
}

// Four runs of 64 columns: 32 bytes whose low nibbles come first.
void UnpackNibblesOf256(const uint8_t* nibbles, uint8_t* codes) {
  for (size_t run = 0; run < 4; ++run) {
    for (size_t i = 0; i < 32; ++i) {
      codes[run * 64 + i] = nibbles[run * 32 + i] & 0x0fU;
      codes[run * 64 + 32 + i] = nibbles[run * 32 + i] >> 4;
    }
  }
}

// Byte i holds bit 4 of columns i, i + 32, ..., i + 224.
void AddFifthBitsOf256(const uint8_t* high, uint8_t* codes) {
  for (size_t run = 0; run < 8; ++run) {
    for (size_t i = 0; i < 32; ++i) {
      codes[run * 32 + i] = static_cast<uint8_t>(codes[run * 32 + i] | (high[i] >> run & 1U) << 4);
    }
  }
}

// Two halves of 128 columns: 64 bytes of nibbles, and 32 bytes with bits 4..5 of four columns each.
void UnpackSixBitCodes(const uint8_t* nibbles, const uint8_t* high, uint8_t* codes) {
  for (size_t half = 0; half < 2; ++half, nibbles += 64, high += 32, codes += 128) {
    for (size_t i = 0; i < 32; ++i) {
      codes[i] = static_cast<uint8_t>((nibbles[i] & 0x0fU) | (high[i] & 3U) << 4);
      codes[i + 32] = static_cast<uint8_t>((nibbles[i + 32] & 0x0fU) | (high[i] >> 2 & 3U) << 4);
      codes[i + 64] = static_cast<uint8_t>(nibbles[i] >> 4 | (high[i] >> 4 & 3U) << 4);
      codes[i + 96] = static_cast<uint8_t>(nibbles[i + 32] >> 4 | (high[i] >> 6 & 3U) << 4);
    }
  }
}

}  // namespace

void UnpackCodes(WeightType type, const std::byte* block, uint8_t* codes) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  switch (type) {
    case WeightType::kQ4_0:
      return UnpackNibbles(bytes + 2, codes);
    case WeightType::kQ4_1:
      return UnpackNibbles(bytes + 4, codes);
    case WeightType::kQ5_0:
      UnpackNibbles(bytes + 6, codes);
      return AddFifthBits(bytes + 2, codes);
    case WeightType::kQ5_1:
      UnpackNibbles(bytes + 8, codes);
      return AddFifthBits(bytes + 4, codes);
    case WeightType::kQ8_0:  // signed; the offset of 128 is the sign bit
      for (size_t i = 0; i < 32; ++i) codes[i] = bytes[2 + i] ^ 0x80U;
      return;
    case WeightType::kQ4_K:
      return UnpackNibblesOf256(bytes + 16, codes);
    case WeightType::kQ5_K:
      UnpackNibblesOf256(bytes + 48, codes);
      return AddFifthBitsOf256(bytes + 16, codes);
    case WeightType::kQ6_K:
      return UnpackSixBitCodes(bytes, bytes + 128, codes);
    default:
      WEIR_CHECK(!"a float type has no codes");
  }
}

ScaleOffsets ScaleOffsetsOf(WeightType type) {
  if (type == WeightType::kQ6_K) return {.scale = 208, .small = 192};
  return {.scale = 0, .addend = 2, .small = 4};
}

void UnpackSixBits(const uint8_t* packed, size_t stride, uint8_t* s, uint8_t* m) {
  for (size_t i = 0; i < 4; ++i) {
    const uint8_t a = packed[i * stride];
    const uint8_t b = packed[(i + 4) * stride];
    const uint8_t c = packed[(i + 8) * stride];
    s[i] = a & 63U;
    m[i] = b & 63U;
    s[i + 4] = static_cast<uint8_t>((c & 0x0fU) | a >> 6 << 4);
    m[i + 4] = static_cast<uint8_t>(c >> 4 | b >> 6 << 4);
  }
}

}  // namespace weir
