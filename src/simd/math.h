// Exp, Tanh and their kin as fixed polynomials: the scalar specification of simd/math-inl.h.
//
// libm's results differ between its versions and from vector code, so no result uses it. Every
// step is one IEEE operation (std::fma is correctly rounded anywhere), so the vector versions have
// the same bits in every lane. NaN gives NaN.
//
// Pure functions, any thread.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace weir {

namespace math {
inline constexpr float kExpMax = 88.0F;   // e^88 is the largest result
inline constexpr float kExpMin = -87.0F;  // below: exactly 0
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147182F;  // rounded to f32
inline constexpr float kLn2Rest = -1.90465421e-9F;
inline constexpr float kRoundToInt = 0x1.8p23F;  // adding it leaves an integer in the low bits
// exp(r) = 1 + r + r^2 * q(r), |r| <= ln(2)/2: minimax in relative error, 3.1e-9 before rounding.
inline constexpr float kExpQ[5] = {0.4999999403953552F, 0.1666652113199234F, 0.04166838899254799F,
                                   0.008368716575205326F, 0.001381459878757596F};
// tanh(x) = x + x * t * p(t), t = x^2, |x| < 0.625: minimax, 4.1e-9 before rounding.
inline constexpr float kTanhSmall = 0.625F;
inline constexpr float kTanhP[5] = {-0.3333328366279602F, 0.13331490755081177F,
                                    -0.05374349653720856F, 0.020650586113333702F,
                                    -0.005717044696211815F};
// GELU's sqrt(2 / pi) and cubic coefficient.
inline constexpr float kGeluSlope = 0.797884583F;
inline constexpr float kGeluCubic = 0.044715F;
}  // namespace math

// e^x: relative error < 1.5e-7 in [-87, 88]; 0 below, e^88 above.
[[nodiscard]] inline float Exp(float x) {
  using namespace math;
  const float clamped = kExpMax < x ? kExpMax : x;
  const float shifted = std::fma(clamped, kLog2E, kRoundToInt);
  const float n = shifted - kRoundToInt;
  const float r = std::fma(n, -kLn2Rest, std::fma(n, -kLn2, clamped));
  float q = std::fma(kExpQ[4], r, kExpQ[3]);
  q = std::fma(q, r, kExpQ[2]);
  q = std::fma(q, r, kExpQ[1]);
  q = std::fma(q, r, kExpQ[0]);
  const float p = std::fma(q, r * r, r) + 1.0F;  // in [0.7, 1.5): n goes straight to its exponent
  const uint32_t bits = std::bit_cast<uint32_t>(p) + (std::bit_cast<uint32_t>(shifted) << 23);
  return x < kExpMin ? 0.0F : std::bit_cast<float>(bits);
}

// 1 / (1 + e^-x)
[[nodiscard]] inline float Sigmoid(float x) { return 1.0F / (1.0F + Exp(-x)); }

// Relative error < 3e-7.
[[nodiscard]] inline float Tanh(float x) {
  using namespace math;
  const float magnitude = std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffU);
  const float t = x * x;
  float p = std::fma(kTanhP[4], t, kTanhP[3]);
  p = std::fma(p, t, kTanhP[2]);
  p = std::fma(p, t, kTanhP[1]);
  p = std::fma(p, t, kTanhP[0]);
  const float small = std::fma(x, t * p, x);
  const float large = 1.0F - 2.0F / (Exp(magnitude + magnitude) + 1.0F);
  const float signed_large = std::bit_cast<float>(std::bit_cast<uint32_t>(large) |
                                                  (std::bit_cast<uint32_t>(x) & 0x80000000U));
  return magnitude < kTanhSmall ? small : signed_large;
}

// x * sigmoid(x)
[[nodiscard]] inline float Silu(float x) { return x / (1.0F + Exp(-x)); }

// 0.5 x (1 + tanh(u)), u = sqrt(2/pi) (x + 0.044715 x^3); written x * sigmoid(2u), which is the
// same and does not cancel.
[[nodiscard]] inline float GeluTanh(float x) {
  using namespace math;
  const float u = (kGeluSlope * x) * std::fma(kGeluCubic, x * x, 1.0F);
  return x / (1.0F + Exp(-(u + u)));
}

}  // namespace weir
