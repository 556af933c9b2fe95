#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "quant/matmul_kernels.h"
#include "simd/half.h"

namespace weir {
namespace {

float HalfAt(const std::byte* halves, size_t index) {
  uint16_t half;
  std::memcpy(&half, halves + index * 2, 2);
  return HalfToFloat(half);
}

void UnpackQuads(uint32_t code_bits, const uint8_t* in, PanelBlock& out) {
  for (size_t q = 0; q < 8; ++q) {
    for (size_t i = 0; i < 64; ++i) {
      if (code_bits == 8) {
        out.codes[q][i] = in[q * 64 + i];
        continue;
      }
      uint32_t code = in[q / 2 * 64 + i] >> (q % 2 * 4) & 0x0fU;
      if (code_bits == 5) code |= (in[256 + i] >> q & 1U) << 4;
      if (code_bits == 6) code |= (in[256 + q / 4 * 64 + i] >> (q % 4 * 2) & 3U) << 4;
      out.codes[q][i] = static_cast<uint8_t>(code);
    }
  }
}

// Scales of block `index` of the group's scale stream.
void UnpackScales(ScaleKind kind, const std::byte* scales, size_t index, PanelBlock& out) {
  const bool superblocks = kind == ScaleKind::kK || kind == ScaleKind::kK16;
  const std::byte* at = scales + (superblocks ? index / 8 : index) * PackedScaleBytes(kind);
  const size_t sub = index % 8;
  for (size_t row = 0; row < kGroupRows; ++row) {
    const float d = HalfAt(at, row);
    switch (kind) {
      case ScaleKind::kPlain:
        out.scale[row] = d;
        out.addend[row] = 0.0F;
        break;
      case ScaleKind::kAffine:
        out.scale[row] = d;
        out.addend[row] = HalfAt(at + 32, row);
        break;
      case ScaleKind::kK: {
        uint8_t s[8];
        uint8_t m[8];
        UnpackSixBits(reinterpret_cast<const uint8_t*>(at + 64) + row, 16, s, m);
        out.scale[row] = d * static_cast<float>(s[sub]);
        out.addend[row] = -(HalfAt(at + 32, row) * static_cast<float>(m[sub]));
        break;
      }
      case ScaleKind::kK16: {
        const auto* s = reinterpret_cast<const int8_t*>(at + 32) + row;
        out.scale[row] = d * static_cast<float>(s[sub * 32]);
        out.high_scale[row] = d * static_cast<float>(s[sub * 32 + 16]);
        break;
      }
    }
  }
}

void UnpackPanel(WeightType type, uint32_t cols, const std::byte* group, PanelBlock* panel) {
  const PackedLayout layout = PackedLayoutOf(type, cols);
  const BlockFormat format = BlockFormatOf(type);
  for (size_t block = 0; block < cols / kBlockCols; ++block) {
    UnpackQuads(format.code_bits,
                reinterpret_cast<const uint8_t*>(group) + block * layout.code_bytes, panel[block]);
    UnpackScales(format.scale_kind, group + layout.scales_offset, block, panel[block]);
  }
}

// Exact: at most 32 * 255 * 127.
int32_t DotQuads(const PanelBlock& block, const int8_t* x, size_t row, size_t first_quad,
                 size_t quads, int32_t offset) {
  int32_t dot = 0;
  for (size_t q = first_quad; q < first_quad + quads; ++q) {
    for (size_t i = 0; i < 4; ++i) {
      dot += (block.codes[q][row * 4 + i] - offset) * x[q * 4 + i];
    }
  }
  return dot;
}

// acc + the block's product of weight row `row` and activation row `m`.
float AddBlock(const BlockFormat& format, const PanelBlock& block, const ConstActivationBlock& x,
               size_t m, size_t row, float acc) {
  const auto offset = static_cast<int32_t>(format.offset);
  const int8_t* codes = x.codes + m * kBlockCols;
  if (format.scale_kind == ScaleKind::kK16) {
    const auto low = static_cast<float>(DotQuads(block, codes, row, 0, 4, offset));
    const auto high = static_cast<float>(DotQuads(block, codes, row, 4, 4, offset));
    acc = std::fma(block.scale[row] * x.scale[m], low, acc);
    return std::fma(block.high_scale[row] * x.scale[m], high, acc);
  }
  const auto dot = static_cast<float>(DotQuads(block, codes, row, 0, 8, offset));
  acc = std::fma(block.scale[row] * x.scale[m], dot, acc);
  if (format.scale_kind == ScaleKind::kPlain) return acc;
  return std::fma(block.addend[row], x.scaled_sum[m], acc);
}

void ZeroOutputs(const GroupProduct& product) {
  for (size_t m = 0; m < product.rows; ++m) {
    std::memset(product.y + m * product.y_stride, 0, kGroupRows * sizeof(float));
  }
}

void AddPanelBlock(const GroupProduct& product, const PanelBlock& block, size_t index) {
  const BlockFormat format = BlockFormatOf(product.type);
  const ConstActivationBlock x(product.x, index, product.rows);
  for (size_t m = 0; m < product.rows; ++m) {
    float* y = product.y + m * product.y_stride;
    for (size_t row = 0; row < kGroupRows; ++row) {
      y[row] = AddBlock(format, block, x, m, row, y[row]);
    }
  }
}

void MultiplyPanel(const GroupProduct& product) {
  const auto* panel = reinterpret_cast<const PanelBlock*>(product.weights);
  ZeroOutputs(product);
  for (size_t block = 0; block < product.cols / kBlockCols; ++block) {
    AddPanelBlock(product, panel[block], block);
  }
}

float FloatAt(WeightType type, const std::byte* elements, size_t index) {
  if (type == WeightType::kF16) return HalfAt(elements, index);
  if (type == WeightType::kF32) {
    float value;
    std::memcpy(&value, elements + index * 4, 4);
    return value;
  }
  uint16_t bfloat;
  std::memcpy(&bfloat, elements + index * 2, 2);
  return BFloatToFloat(bfloat);
}

void MultiplyFloats(const GroupProduct& product) {
  ZeroOutputs(product);
  for (size_t m = 0; m < product.rows; ++m) {
    float* y = product.y + m * product.y_stride;
    for (size_t col = 0; col < product.cols; ++col) {
      const float x = product.x_values[m * product.cols + col];
      for (size_t row = 0; row < kGroupRows; ++row) {
        y[row] =
            std::fma(FloatAt(product.type, product.weights, col * kGroupRows + row), x, y[row]);
      }
    }
  }
}

void MultiplyPacked(const GroupProduct& product) {
  if (!IsQuantized(product.type)) return MultiplyFloats(product);
  const PackedLayout layout = PackedLayoutOf(product.type, product.cols);
  const BlockFormat format = BlockFormatOf(product.type);
  PanelBlock unpacked;
  ZeroOutputs(product);
  for (size_t block = 0; block < product.cols / kBlockCols; ++block) {
    UnpackQuads(format.code_bits,
                reinterpret_cast<const uint8_t*>(product.weights) + block * layout.code_bytes,
                unpacked);
    UnpackScales(format.scale_kind, product.weights + layout.scales_offset, block, unpacked);
    AddPanelBlock(product, unpacked, block);
  }
}

void QuantizeBlock(const float* x, const ActivationBlock<std::byte>& out, size_t row) {
  uint32_t max_bits = 0;  // magnitudes order like their bits; NaN is above all
  for (size_t i = 0; i < kBlockCols; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU;
    if (bits > max_bits) max_bits = bits;
  }
  const auto max = std::bit_cast<float>(max_bits);
  const bool is_finite = max_bits < 0x7f800000U;
  const bool is_zero = !is_finite || max < 0x1p-110F;
  const float inverse = is_zero ? 0.0F : 127.0F / max;
  int32_t sum = 0;
  for (size_t i = 0; i < kBlockCols; ++i) {
    const float value = is_zero ? 0.0F : x[i];
    const float rounded = value * inverse + 0x1.8p23F;  // nearest even, in the low bits
    const auto code = static_cast<int32_t>(std::bit_cast<uint32_t>(rounded) - 0x4b400000U);
    out.codes[row * kBlockCols + i] = static_cast<int8_t>(code);
    sum += code;
    if (i == 15) out.minus_low_sum[row] = -sum;
  }
  out.minus_sum[row] = -sum;
  out.scale[row] = is_zero ? 0.0F : max / 127.0F;
  if (!is_finite) out.scale[row] = std::numeric_limits<float>::quiet_NaN();
  out.scaled_sum[row] = out.scale[row] * static_cast<float>(sum);
}

void Quantize(const float* values, uint32_t rows, uint32_t cols, std::byte* out) {
  for (size_t block = 0; block < cols / kBlockCols; ++block) {
    const ActivationBlock<std::byte> x(out, block, rows);
    for (size_t row = 0; row < rows; ++row) {
      QuantizeBlock(values + row * cols + block * kBlockCols, x, row);
    }
  }
}

}  // namespace

const MatMulKernels& ScalarMatMulKernels() {
  static constexpr MatMulKernels kernels = {
      .multiply_packed = MultiplyPacked,
      .multiply_panel = MultiplyPanel,
      .unpack_panel = UnpackPanel,
      .panel_from_rows = 9,
      .begin_panels = nullptr,
      .end_panels = nullptr,
      .quantize = Quantize,
  };
  return kernels;
}

}  // namespace weir
