// How PackedMatrix lays out its bytes: 16 rows side by side, one SIMD lane each, in the bits of the
// GGUF blocks.
//
// Rows come in groups of 16 (the last one padded with zero rows). A float group is [cols][16]
// elements. A quantised group is first all codes, then all scales, and takes exactly the bytes of
// its 16 GGUF rows, rounded up to 64:
//
//   codes   [cols / 32] blocks, each of 64-byte vectors. Quad q (0..7) of a block is its columns
//           4q..4q+3; byte 4r+i of a vector belongs to row r, column 4q+i.
//             8 bits   vector q: the codes of quad q
//             4 bits   vector v (0..3): low nibble quad 2v, high nibble quad 2v+1
//             5 bits   as 4 bits, and a vector whose bit q is bit 4 of quad q's code
//             6 bits   as 4 bits, and vectors h (0..1) whose bits 2i..2i+1 are bits 4..5 of quad
//                      4h+i's code
//   scales  kPlain   [cols / 32]   {f16 scale [16]}
//           kAffine  [cols / 32]   {f16 scale [16], f16 addend [16]}
//           kK       [cols / 256]  {f16 d [16], f16 dmin [16], 6-bit s and m: u8 [12][16]}
//           kK16     [cols / 256]  {f16 d [16], s: i8 [16][16]}
#pragma once

#include <cstddef>
#include <cstdint>

#include "quant/block_format.h"
#include "quant/weight_type.h"

namespace weir {

inline constexpr uint32_t kGroupRows = 16;
inline constexpr uint32_t kBlockCols = 32;

struct PackedLayout {
  uint64_t group_bytes = 0;    // a multiple of 64
  uint64_t scales_offset = 0;  // within a group
  uint32_t code_bytes = 0;     // a block of 32 columns
  uint32_t scale_bytes = 0;    // a GGUF block: 32 or 256 columns
};

[[nodiscard]] constexpr uint32_t PackedScaleBytes(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::kPlain:
      return 32;
    case ScaleKind::kAffine:
      return 64;
    case ScaleKind::kK:
      return 64 + 12 * 16;
    case ScaleKind::kK16:
      return 32 + 16 * 16;
  }
  return 0;
}

[[nodiscard]] PackedLayout PackedLayoutOf(WeightType type, uint32_t cols);

// One group with its bits spread out, for multiplying many activation rows: what any quantised type
// becomes. codes[q] is quad q as above, one byte a code.
struct PanelBlock {
  alignas(64) uint8_t codes[8][64];
  float scale[kGroupRows];  // of columns 0..15 (kK16), else of all 32
  union {
    float addend[kGroupRows];      // kAffine, kK; else unused
    float high_scale[kGroupRows];  // kK16: of columns 16..31
  };
};
static_assert(sizeof(PanelBlock) == 640);

}  // namespace weir
