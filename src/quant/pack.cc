#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "quant/matmul.h"
#include "quant/packed_layout.h"

namespace weir {
namespace {

constexpr uint64_t kSlabBytes = 8 << 20;  // packed between two calls of OnSlab

using Quads = std::array<uint8_t, 8 * 64>;  // a block of 16 rows: byte 64q + 4r + i

void TransposeToQuads(const uint8_t (*codes)[256], size_t first_col, Quads& quads) {
  for (size_t q = 0; q < 8; ++q) {
    for (size_t row = 0; row < kGroupRows; ++row) {
      std::memcpy(&quads[q * 64 + row * 4], &codes[row][first_col + q * 4], 4);
    }
  }
}

void PackNibbles(const Quads& quads, uint8_t* out) {
  for (size_t v = 0; v < 4; ++v) {
    const uint8_t* low = &quads[v * 128];
    const uint8_t* high = low + 64;
    for (size_t i = 0; i < 64; ++i) {
      out[v * 64 + i] = static_cast<uint8_t>((low[i] & 0x0fU) | high[i] << 4);
    }
  }
}

// Bits 4 and up of `per_byte` quads, `bits` each, side by side in one vector.
void PackHighBits(const uint8_t* quads, size_t bits, uint8_t* out) {
  const size_t per_byte = 8 / bits;
  std::memset(out, 0, 64);
  for (size_t q = 0; q < per_byte; ++q) {
    for (size_t i = 0; i < 64; ++i) {
      out[i] = static_cast<uint8_t>(out[i] | quads[q * 64 + i] >> 4 << (q * bits));
    }
  }
}

void PackCodes(const Quads& quads, uint32_t code_bits, uint8_t* out) {
  if (code_bits == 8) {
    std::memcpy(out, quads.data(), quads.size());
    return;
  }
  PackNibbles(quads, out);
  if (code_bits == 5) PackHighBits(quads.data(), 1, out + 256);
  if (code_bits == 6) {
    PackHighBits(quads.data(), 2, out + 256);
    PackHighBits(quads.data() + 256, 2, out + 320);
  }
}

// 16 rows of one matrix and where they go.
struct GroupCopy {
  WeightType type;
  uint32_t cols;
  uint32_t rows;  // 1..16 present
  const std::byte* source;
  uint64_t row_bytes;
  std::byte* target;  // zeroed
};

// The 16-bit number at `offset` of this block in every row.
void PackHalves(const GroupCopy& group, uint64_t offset, std::byte* out) {
  for (size_t row = 0; row < group.rows; ++row) {
    std::memcpy(out + row * 2, group.source + row * group.row_bytes + offset, 2);
  }
}

void PackScales(const GroupCopy& group, uint64_t block_offset, std::byte* out) {
  const ScaleKind kind = BlockFormatOf(group.type).scale_kind;
  const ScaleOffsets at = ScaleOffsetsOf(group.type);
  PackHalves(group, block_offset + at.scale, out);
  out += 32;
  if (kind == ScaleKind::kAffine || kind == ScaleKind::kK) {
    PackHalves(group, block_offset + at.addend, out);
    out += 32;
  }
  const size_t small_count = kind == ScaleKind::kK ? 12 : kind == ScaleKind::kK16 ? 16 : 0;
  for (size_t row = 0; row < group.rows; ++row) {
    const std::byte* small = group.source + row * group.row_bytes + block_offset + at.small;
    for (size_t i = 0; i < small_count; ++i) out[i * 16 + row] = small[i];
  }
}

void PackQuantizedGroup(const GroupCopy& group) {
  const WeightTypeInfo& info = InfoOf(group.type);
  const PackedLayout layout = PackedLayoutOf(group.type, group.cols);
  const uint32_t code_bits = BlockFormatOf(group.type).code_bits;
  uint8_t codes[kGroupRows][256] = {};
  Quads quads;
  std::byte* code_out = group.target;
  std::byte* scale_out = group.target + layout.scales_offset;
  for (uint32_t block = 0; block < group.cols / info.block_elements; ++block) {
    const uint64_t block_offset = static_cast<uint64_t>(block) * info.block_bytes;
    for (size_t row = 0; row < group.rows; ++row) {
      UnpackCodes(group.type, group.source + row * group.row_bytes + block_offset, codes[row]);
    }
    for (size_t col = 0; col < info.block_elements; col += kBlockCols) {
      TransposeToQuads(codes, col, quads);
      PackCodes(quads, code_bits, reinterpret_cast<uint8_t*>(code_out));
      code_out += layout.code_bytes;
    }
    PackScales(group, block_offset, scale_out);
    scale_out += layout.scale_bytes;
  }
}

template <class Element>
void PackFloatGroup(const GroupCopy& group) {
  for (size_t row = 0; row < group.rows; ++row) {
    const std::byte* source = group.source + row * group.row_bytes;
    for (size_t col = 0; col < group.cols; ++col) {
      std::memcpy(group.target + (col * kGroupRows + row) * sizeof(Element),
                  source + col * sizeof(Element), sizeof(Element));
    }
  }
}

void PackGroup(const GroupCopy& group) {
  if (IsQuantized(group.type)) return PackQuantizedGroup(group);
  if (group.type == WeightType::kF32) return PackFloatGroup<uint32_t>(group);
  PackFloatGroup<uint16_t>(group);
}

}  // namespace

PackedLayout PackedLayoutOf(WeightType type, uint32_t cols) {
  PackedLayout layout;
  uint64_t bytes = RowBytes(type, cols) * kGroupRows;
  if (IsQuantized(type)) {
    const BlockFormat format = BlockFormatOf(type);
    layout.code_bytes = 64 * format.code_bits;
    layout.scale_bytes = PackedScaleBytes(format.scale_kind);
    layout.scales_offset = static_cast<uint64_t>(cols / kBlockCols) * layout.code_bytes;
    WEIR_DCHECK(bytes ==
                layout.scales_offset + cols / InfoOf(type).block_elements * layout.scale_bytes);
  }
  layout.group_bytes = (bytes + 63) / 64 * 64;
  return layout;
}

PackedMatrix PackedMatrix::Pack(const MatrixView& matrix, ThreadPool& pool, Arena& arena,
                                const OnSlab& on_slab) {
  const uint64_t row_bytes = RowBytes(matrix.type, matrix.cols);
  WEIR_CHECK(matrix.bytes.size() == row_bytes * matrix.rows);
  const PackedLayout layout = PackedLayoutOf(matrix.type, matrix.cols);
  const uint32_t groups = (matrix.rows + kGroupRows - 1) / kGroupRows;

  PackedMatrix packed;
  packed.type_ = matrix.type;
  packed.rows_ = matrix.rows;
  packed.cols_ = matrix.cols;
  packed.data_ = arena.Take(layout.group_bytes * groups);
  const auto pack_group = [&](uint32_t group) {
    const uint32_t first_row = group * kGroupRows;
    const uint32_t rows_left = matrix.rows - first_row;
    PackGroup({.type = matrix.type,
               .cols = matrix.cols,
               .rows = rows_left < kGroupRows ? rows_left : kGroupRows,
               .source = matrix.bytes.data() + first_row * row_bytes,
               .row_bytes = row_bytes,
               .target = packed.data_.data() + group * layout.group_bytes});
  };
  const auto slab_groups =
      static_cast<uint32_t>(std::max<uint64_t>(1, kSlabBytes / layout.group_bytes));
  for (uint32_t first = 0; first < groups; first += slab_groups) {
    const uint32_t count = std::min(slab_groups, groups - first);
    pool.ParallelFor(count, [&](uint32_t i, uint32_t) { pack_group(first + i); });
    const uint64_t rows_done = std::min<uint64_t>(matrix.rows, (first + count) * kGroupRows);
    if (on_slab) on_slab(rows_done * row_bytes);
  }
  return packed;
}

}  // namespace weir
