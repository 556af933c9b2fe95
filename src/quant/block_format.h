// The parts of GGUF's quantised blocks: codes, scales, minima.
//
// Every quantised type here is, for 32 (or, Q6_K, 16) columns of one row,
//     weight = scale * (code - offset) + addend
// with unsigned codes of 4, 5, 6 or 8 bits. What differs is where the bits lie and how scale and
// addend are stored. Dequantising and packing both read blocks through these functions.
//
// Pure functions, any thread. They never fail: any bytes are some numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/weight_type.h"

namespace weir {

enum class ScaleKind : uint8_t {
  kPlain,   // f16 scale a block of 32
  kAffine,  // f16 scale and f16 addend a block of 32
  kK,       // a superblock of 256: f16 d and dmin; 6-bit s and m of each 32 columns:
            //   scale = d * s, addend = -(dmin * m), both exact in f32
  kK16,     // a superblock of 256: f16 d; 8-bit s of each 16 columns: scale = d * s, exact in f32
};

struct BlockFormat {
  ScaleKind scale_kind;
  uint32_t code_bits;  // 4, 5, 6, 8
  uint32_t offset;     // a power of two, or 0
};

[[nodiscard]] constexpr bool IsQuantized(WeightType type) { return type >= WeightType::kQ4_0; }

// Requires IsQuantized(type).
[[nodiscard]] constexpr BlockFormat BlockFormatOf(WeightType type) {
  switch (type) {
    case WeightType::kQ4_0:
      return {ScaleKind::kPlain, 4, 8};
    case WeightType::kQ4_1:
      return {ScaleKind::kAffine, 4, 0};
    case WeightType::kQ5_0:
      return {ScaleKind::kPlain, 5, 16};
    case WeightType::kQ5_1:
      return {ScaleKind::kAffine, 5, 0};
    case WeightType::kQ8_0:
      return {ScaleKind::kPlain, 8, 128};
    case WeightType::kQ4_K:
      return {ScaleKind::kK, 4, 0};
    case WeightType::kQ5_K:
      return {ScaleKind::kK, 5, 0};
    case WeightType::kQ6_K:
      return {ScaleKind::kK16, 6, 32};
    default:
      return {ScaleKind::kPlain, 0, 0};
  }
}

// The unsigned codes of one block in column order. codes: [block_elements].
void UnpackCodes(WeightType type, const std::byte* block, uint8_t* codes);

// Where a block keeps its 16-bit numbers and small scales, in bytes from its start.
struct ScaleOffsets {
  uint32_t scale = 0;   // f16 scale or d
  uint32_t addend = 0;  // f16 addend or dmin
  uint32_t small = 0;   // 12 bytes of 6-bit (kK) or 16 signed bytes (kK16)
};
[[nodiscard]] ScaleOffsets ScaleOffsetsOf(WeightType type);

// Scale and addend of each 16 columns of a block; a block of 32 columns fills two.
struct BlockScales {
  float scale[16];
  float addend[16];
};

// The parts that ScaleOffsets points at; byte `b` of the small scales is small[b * small_stride].
struct ScaleParts {
  uint16_t scale = 0;
  uint16_t addend = 0;
  const uint8_t* small = nullptr;
  size_t small_stride = 1;
};
void ComputeScales(WeightType type, const ScaleParts& parts, BlockScales& scales);

// out[i] = scale * (code - offset) + addend, of one block.
void DequantizeCodes(WeightType type, const uint8_t* codes, const BlockScales& scales,
                     std::span<float> out);

// The 6-bit s and m of the 8 sub-blocks, from their 12 bytes: byte `b` of the 12 is
// packed[b * stride].
void UnpackSixBits(const uint8_t* packed, size_t stride, uint8_t* s, uint8_t* m);

}  // namespace weir
