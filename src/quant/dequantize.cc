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

void DequantizeBlock(WeightType type, const std::byte* block, std::span<float> out) {
  const ScaleOffsets at = ScaleOffsetsOf(type);
  uint8_t codes[256];
  BlockScales scales;
  UnpackCodes(type, block, codes);
  ComputeScales(type,
                {.scale = LoadU16(block + at.scale),
                 .addend = LoadU16(block + at.addend),
                 .small = reinterpret_cast<const uint8_t*>(block + at.small)},
                scales);
  DequantizeCodes(type, codes, scales, out);
}

}  // namespace

void ComputeScales(WeightType type, const ScaleParts& parts, BlockScales& scales) {
  const float d = HalfToFloat(parts.scale);
  switch (BlockFormatOf(type).scale_kind) {
    case ScaleKind::kPlain:
      scales.scale[0] = scales.scale[1] = d;
      scales.addend[0] = scales.addend[1] = 0.0F;
      return;
    case ScaleKind::kAffine:
      scales.scale[0] = scales.scale[1] = d;
      scales.addend[0] = scales.addend[1] = HalfToFloat(parts.addend);
      return;
    case ScaleKind::kK: {
      const float dmin = HalfToFloat(parts.addend);
      uint8_t s[8];
      uint8_t m[8];
      UnpackSixBits(parts.small, parts.small_stride, s, m);
      for (size_t i = 0; i < 16; ++i) {
        scales.scale[i] = d * static_cast<float>(s[i / 2]);
        scales.addend[i] = -(dmin * static_cast<float>(m[i / 2]));
      }
      return;
    }
    case ScaleKind::kK16:
      for (size_t i = 0; i < 16; ++i) {
        const auto small = static_cast<int8_t>(parts.small[i * parts.small_stride]);
        scales.scale[i] = d * static_cast<float>(small);
        scales.addend[i] = 0.0F;
      }
      return;
  }
}

void DequantizeCodes(WeightType type, const uint8_t* codes, const BlockScales& scales,
                     std::span<float> out) {
  const auto offset = static_cast<int32_t>(BlockFormatOf(type).offset);
  for (size_t i = 0; i < out.size(); ++i) {
    const float value = static_cast<float>(static_cast<int32_t>(codes[i]) - offset);
    out[i] = scales.scale[i / 16] * value + scales.addend[i / 16];
  }
}

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
