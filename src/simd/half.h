// 16-bit floats to and from f32, bit for bit as the hardware conversions do.
//
// Pure functions, any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace weir {

// IEEE binary16. Every value, subnormals included, is exact in f32.
[[nodiscard]] inline float HalfToFloat(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U) {  // Inf, NaN
    const uint32_t quiet = magnitude > 0x7c00U ? 0x00400000U : 0U;
    return std::bit_cast<float>(sign | 0x7f800000U | quiet | (magnitude & 0x3ffU) << 13);
  }
  if (magnitude < 0x0400U) {  // zero, subnormal: magnitude * 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

// Rounds to nearest even; finite values beyond binary16 and infinities become +-65504; NaN stays.
[[nodiscard]] inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000U);
  const uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return sign | 0x7e00U;
  if (magnitude >= 0x477fe000U) return sign | 0x7bffU;  // 65504 and up
  if (magnitude < 0x38800000U) {                        // below 2^-14: a multiple of 2^-24
    // Adding 0.5 leaves the multiple in the low bits, rounded to nearest even by the addition.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000U);
  }
  const uint32_t odd = magnitude >> 13 & 1U;
  const uint32_t rounded = (magnitude - (112U << 23) + 0xfffU + odd) >> 13;
  return sign | static_cast<uint16_t>(rounded < 0x7bffU ? rounded : 0x7bffU);
}

[[nodiscard]] inline float BFloatToFloat(uint16_t bfloat) {
  return std::bit_cast<float>(static_cast<uint32_t>(bfloat) << 16);
}

}  // namespace weir
