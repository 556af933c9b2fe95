// e^x in scalar form: what every ISA's vectors compute, bit for bit.
//
//   n = round(x / ln 2), r = x - n ln 2 (two-step, fused), e^x = 2^n * (1 + r + r^2/2 + .. r^7/7!)
//
// |r| <= 0.347, so the dropped term is below 6e-9 of the result; error about 1 ulp in all. Below
// -87 the result is 0 (e^-87 = 1.6e-38, still normal); above 88 it stays e^88.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace weir {

inline constexpr float kExpLowest = -87.0F;
inline constexpr float kExpHighest = 88.0F;
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kLn2High = 0x1.62e4p-1F;    // 16 bits: n * kLn2High is exact
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;  // ln 2 - kLn2High
inline constexpr float kExpTerms[] = {1.0F / 5040, 1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6,
                                      0.5F,        1.0F,       1.0F};  // highest power first

inline float ExpScalar(float x) {
  if (x < kExpLowest) return 0.0F;
  x = x > kExpHighest ? kExpHighest : x;
  const float n = std::nearbyint(x * kLog2E);
  const float r = std::fma(n, -kLn2Low, std::fma(n, -kLn2High, x));
  float sum = kExpTerms[0];
  for (int i = 1; i < 8; ++i) sum = std::fma(sum, r, kExpTerms[i]);
  const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(n)) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(sum) + exponent);
}

// tanh(x) = 1 - 2 / (e^2x + 1); absolute error about 1e-7.
inline float TanhScalar(float x) { return 1.0F - 2.0F / (ExpScalar(x + x) + 1.0F); }

}  // namespace weir
