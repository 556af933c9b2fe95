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
int32_t DotQuads(const PanelBlock& block, const ActivationBlock& x, size_t row, size_t first_quad,
                 size_t quads, int32_t offset) {
  int32_t dot = 0;
  for (size_t q = first_quad; q < first_quad + quads; ++q) {
    for (size_t i = 0; i < 4; ++i) {
      dot += (block.codes[q][row * 4 + i] - offset) * x.codes[q * 4 + i];
    }
  }
  return dot;
}

float AddBlock(const BlockFormat& format, const PanelBlock& block, const ActivationBlock& x,
               size_t row, float acc) {
  const auto offset = static_cast<int32_t>(format.offset);
  if (format.scale_kind == ScaleKind::kK16) {
    const auto low = static_cast<float>(DotQuads(block, x, row, 0, 4, offset));
    const auto high = static_cast<float>(DotQuads(block, x, row, 4, 4, offset));
    acc = std::fma(block.scale[row] * x.scale, low, acc);
    return std::fma(block.high_scale[row] * x.scale, high, acc);
  }
  const auto dot = static_cast<float>(DotQuads(block, x, row, 0, 8, offset));
  acc = std::fma(block.scale[row] * x.scale, dot, acc);
  if (format.scale_kind == ScaleKind::kPlain) return acc;
  return std::fma(block.addend[row], x.scaled_sum, acc);
}

void ZeroOutputs(const GroupProduct& product) {
  for (size_t m = 0; m < product.rows; ++m) {
    std::memset(product.y + m * product.y_stride, 0, kGroupRows * sizeof(float));
  }
}

void AddPanelBlock(const GroupProduct& product, const PanelBlock& block, size_t index) {
  const BlockFormat format = BlockFormatOf(product.type);
  for (size_t m = 0; m < product.rows; ++m) {
    float* y = product.y + m * product.y_stride;
    const ActivationBlock& x = product.x[index * product.rows + m];
    for (size_t row = 0; row < kGroupRows; ++row) y[row] = AddBlock(format, block, x, row, y[row]);
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

void QuantizeBlock(const float* x, ActivationBlock& out) {
  uint32_t max_bits = 0;  // magnitudes order like their bits; NaN is above all
  for (size_t i = 0; i < 32; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU;
    if (bits > max_bits) max_bits = bits;
  }
  const auto max = std::bit_cast<float>(max_bits);
  out = {};
  if (max_bits >= 0x7f800000U) {
    out.scale = out.scaled_sum = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  if (max < 0x1p-110F) return;
  out.scale = max / 127.0F;
  const float inverse = 127.0F / max;
  for (size_t i = 0; i < 32; ++i) {
    const float rounded = x[i] * inverse + 0x1.8p23F;  // nearest even, in the low bits
    const auto code = static_cast<int32_t>(std::bit_cast<uint32_t>(rounded) - 0x4b400000U);
    out.codes[i] = static_cast<int8_t>(code);
    if (i < 16) out.minus_low_sum -= code;
    out.minus_sum -= code;
  }
  out.scaled_sum = out.scale * static_cast<float>(-out.minus_sum);
}

void Quantize(const float* values, uint32_t rows, uint32_t cols, ActivationBlock* out) {
  for (size_t row = 0; row < rows; ++row) {
    for (size_t block = 0; block < cols / kBlockCols; ++block) {
      QuantizeBlock(values + row * cols + block * kBlockCols, out[block * rows + row]);
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
