#include <cstring>

#include "base/check.h"
#include "quant/block_format.h"
#include "quant/weight_type.h"
#include "simd/half.h"

namespace weir {
namespace {

uint16_t LoadU16(const std::byte* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

// Scale and addend of each 16 columns of a block.
struct BlockScales {
  float scale[16];
  float addend[16];
};

void LoadScales(WeightType type, const std::byte* block, BlockScales& scales) {
  const ScaleOffsets at = ScaleOffsetsOf(type);
  const float d = HalfToFloat(LoadU16(block + at.scale));
  const auto* small = reinterpret_cast<const uint8_t*>(block + at.small);
  switch (BlockFormatOf(type).scale_kind) {
    case ScaleKind::kPlain:
      scales.scale[0] = scales.scale[1] = d;
      scales.addend[0] = scales.addend[1] = 0.0F;
      return;
    case ScaleKind::kAffine:
      scales.scale[0] = scales.scale[1] = d;
      scales.addend[0] = scales.addend[1] = HalfToFloat(LoadU16(block + at.addend));
      return;
    case ScaleKind::kK: {
      const float dmin = HalfToFloat(LoadU16(block + at.addend));
      uint8_t s[8];
      uint8_t m[8];
      UnpackSixBits(small, 1, s, m);
      for (size_t i = 0; i < 16; ++i) {
        scales.scale[i] = d * static_cast<float>(s[i / 2]);
        scales.addend[i] = -(dmin * static_cast<float>(m[i / 2]));
      }
      return;
    }
    case ScaleKind::kK16:
      for (size_t i = 0; i < 16; ++i) {
        scales.scale[i] = d * static_cast<float>(static_cast<int8_t>(small[i]));
        scales.addend[i] = 0.0F;
      }
      return;
  }
}

void DequantizeBlock(WeightType type, const std::byte* block, std::span<float> out) {
  uint8_t codes[256];
  BlockScales scales;
  UnpackCodes(type, block, codes);
  LoadScales(type, block, scales);
  const auto offset = static_cast<int32_t>(BlockFormatOf(type).offset);
  for (size_t i = 0; i < out.size(); ++i) {
    const float value = static_cast<float>(static_cast<int32_t>(codes[i]) - offset);
    out[i] = scales.scale[i / 16] * value + scales.addend[i / 16];
  }
}

}  // namespace

void DequantizeRow(WeightType type, std::span<const std::byte> bytes, std::span<float> out) {
  WEIR_CHECK(bytes.size() == RowBytes(type, out.size()));
  switch (type) {
    case WeightType::kF32:
      std::memcpy(out.data(), bytes.data(), bytes.size());
      return;
    case WeightType::kF16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = HalfToFloat(LoadU16(&bytes[i * 2]));
      return;
    case WeightType::kBF16:
      for (size_t i = 0; i < out.size(); ++i) out[i] = BFloatToFloat(LoadU16(&bytes[i * 2]));
      return;
    default:
      break;
  }
  const WeightTypeInfo& info = InfoOf(type);
  for (size_t block = 0; block * info.block_elements < out.size(); ++block) {
    DequantizeBlock(type, bytes.data() + block * info.block_bytes,
                    out.subspan(block * info.block_elements, info.block_elements));
  }
}

}  // namespace weir
