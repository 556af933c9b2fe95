#include "quant/kv_tile.h"

#include <bit>

#include "base/check.h"

namespace weir {
namespace {

constexpr uint32_t kSignBit = 0x80000000;
constexpr uint32_t kHalfMaxAsFloatBits = 0x477FE000;        // 65504
constexpr uint32_t kHalfNormalMinAsFloatBits = 0x38800000;  // 2^-14
constexpr uint32_t kInfinityBits = 0x7F800000;

uint16_t* HalfPlane(std::byte* plane) { return reinterpret_cast<uint16_t*>(plane); }

}  // namespace

std::string_view NameOf(KvFormat format) {
  WEIR_CHECK(format == KvFormat::kF16);
  return "f16";
}

uint64_t PlaneBytes(KvFormat format, uint32_t heads, uint32_t dim) {
  WEIR_CHECK(format == KvFormat::kF16);
  return uint64_t{heads} * dim * kTileTokens * sizeof(uint16_t);
}

uint16_t HalfBitsOf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits & kSignBit) >> 16;
  uint32_t magnitude = bits & ~kSignBit;
  if (magnitude > kInfinityBits) return static_cast<uint16_t>(sign | 0x7E00);  // NaN
  if (magnitude > kHalfMaxAsFloatBits) magnitude = kHalfMaxAsFloatBits;
  if (magnitude < kHalfNormalMinAsFloatBits) {
    // Adding 0.5 leaves steps of 2^-24, f16's subnormal step: the addition itself rounds.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3F000000));
  }
  const uint32_t odd = (magnitude >> 13) & 1;  // ties go to the even neighbour
  const uint32_t rounded = magnitude + 0xFFF + odd;
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112U << 10)));
}

float ValueOfHalf(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000U} << 16;
  const uint32_t exponent = (bits >> 10) & 0x1F;
  const uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0) {  // subnormal: mantissa steps of 2^-24, exact in f32
    const auto magnitude = std::bit_cast<uint32_t>(static_cast<float>(mantissa) * 0x1p-24F);
    return std::bit_cast<float>(sign | magnitude);
  }
  const uint32_t float_exponent = exponent == 0x1F ? 0xFF : exponent + 112;
  return std::bit_cast<float>(sign | (float_exponent << 23) | (mantissa << 13));
}

void WriteKeyRow(KvFormat format, std::span<const float> row, uint32_t heads, uint32_t dim,
                 uint32_t slot, std::byte* plane) {
  WEIR_DCHECK(format == KvFormat::kF16 && row.size() == size_t{heads} * dim && slot < kTileTokens);
  (void)format, (void)heads, (void)dim;
  uint16_t* out = HalfPlane(plane) + slot;
  for (size_t i = 0; i < row.size(); ++i) out[i * kTileTokens] = HalfBitsOf(row[i]);
}

void WriteValueRow(KvFormat format, std::span<const float> row, uint32_t heads, uint32_t dim,
                   uint32_t slot, std::byte* plane) {
  WEIR_DCHECK(format == KvFormat::kF16 && row.size() == size_t{heads} * dim && slot < kTileTokens);
  (void)format;
  for (uint32_t head = 0; head < heads; ++head) {
    uint16_t* out = HalfPlane(plane) + (size_t{head} * kTileTokens + slot) * dim;
    for (uint32_t d = 0; d < dim; ++d) out[d] = HalfBitsOf(row[size_t{head} * dim + d]);
  }
}

}  // namespace weir
