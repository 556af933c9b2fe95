#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "quant/block_format.h"
#include "quant/matmul.h"
#include "quant/packed_layout.h"
#include "simd/half.h"

namespace weir {
namespace {

uint16_t LoadU16(const std::byte* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// The codes of one row of a block of 32 columns, in column order.
void GatherCodes(const std::byte* block, uint32_t code_bits, uint32_t lane, uint8_t* codes) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block) + size_t{lane} * 4;
  for (uint32_t col = 0; col < kBlockCols; ++col) {
    const uint32_t quad = col / 4;
    const uint32_t i = col % 4;
    if (code_bits == 8) {
      codes[col] = bytes[quad * 64 + i];
      continue;
    }
    uint32_t code = bytes[quad / 2 * 64 + i] >> (quad % 2 * 4) & 0x0fU;
    if (code_bits == 5) code |= (bytes[256 + i] >> quad & 1U) << 4;
    if (code_bits == 6) code |= (bytes[256 + quad / 4 * 64 + i] >> (quad % 4 * 2) & 3U) << 4;
    codes[col] = static_cast<uint8_t>(code);
  }
}

// Scales of one row of a GGUF block.
void GatherScales(WeightType type, const std::byte* block, uint32_t lane, BlockScales& scales) {
  const ScaleKind kind = BlockFormatOf(type).scale_kind;
  const bool has_addend = kind == ScaleKind::kAffine || kind == ScaleKind::kK;
  const std::byte* small = block + (has_addend ? 64 : 32);
  ComputeScales(type,
                {.scale = LoadU16(block + size_t{lane} * 2),
                 .addend = has_addend ? LoadU16(block + 32 + size_t{lane} * 2) : uint16_t{0},
                 .small = reinterpret_cast<const uint8_t*>(small) + lane,
                 .small_stride = kGroupRows},
                scales);
}

void UnpackQuantizedRow(WeightType type, const std::byte* group, uint32_t lane,
                        std::span<float> out) {
  const uint32_t block_elements = InfoOf(type).block_elements;
  const uint32_t code_bits = BlockFormatOf(type).code_bits;
  const PackedLayout layout = PackedLayoutOf(type, static_cast<uint32_t>(out.size()));
  uint8_t codes[256];
  BlockScales scales;
  for (size_t block = 0; block * block_elements < out.size(); ++block) {
    const size_t first_col = block * block_elements;
    for (size_t col = 0; col < block_elements; col += kBlockCols) {
      GatherCodes(group + (first_col + col) / kBlockCols * layout.code_bytes, code_bits, lane,
                  codes + col);
    }
    GatherScales(type, group + layout.scales_offset + block * layout.scale_bytes, lane, scales);
    DequantizeCodes(type, codes, scales, out.subspan(first_col, block_elements));
  }
}

}  // namespace

void PackedMatrix::UnpackRow(uint32_t row, std::span<float> out) const {
  WEIR_CHECK(row < rows_ && out.size() == cols_);
  const std::byte* group = data() + row / kGroupRows * PackedLayoutOf(type_, cols_).group_bytes;
  const uint32_t lane = row % kGroupRows;
  if (IsQuantized(type_)) return UnpackQuantizedRow(type_, group, lane, out);
  const size_t element_bytes = InfoOf(type_).block_bytes;
  for (size_t col = 0; col < out.size(); ++col) {
    DequantizeRow(type_, {group + (col * kGroupRows + lane) * element_bytes, element_bytes},
                  out.subspan(col, 1));
  }
}

}  // namespace weir
