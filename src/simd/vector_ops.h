// Elementwise operations and reductions on f32 rows, with the same bits on every ISA.
//
// Reductions keep 16 partial results, element i in partial i % 16, and fold them at the end: 8..15
// onto 0..7, 4..7 onto 0..3, 2..3 onto 0..1, 1 onto 0. The order depends on the row's length alone.
//
// Rows of one call have equal lengths, any length, any alignment; `out` may be an input.
// Pure functions, any thread.
#pragma once

#include <span>

namespace weir {

// sum of x[i]^2
[[nodiscard]] float SumOfSquares(std::span<const float> x);

// sum of x[i] * y[i]
[[nodiscard]] float Dot(std::span<const float> x, std::span<const float> y);

// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i]; an empty weight means all ones.
void RmsNorm(std::span<const float> x, std::span<const float> weight, float eps,
             std::span<float> out);

// y[i] += x[i]
void AddInPlace(std::span<const float> x, std::span<float> y);

// y[i] = fma(factor, x[i], y[i])
void AddScaled(std::span<const float> x, float factor, std::span<float> y);

// x[i] *= factor
void Scale(float factor, std::span<float> x);

// out[i] = silu(gate[i]) * up[i]
void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out);

// out[i] = gelu(gate[i]) * up[i], the tanh form of GELU
void GeluTanhMul(std::span<const float> gate, std::span<const float> up, std::span<float> out);

// x[i] = cap * tanh(x[i] / cap)
void Softcap(float cap, std::span<float> x);

// x[i] = e^(x[i] - shift); returns their sum.
float ExpAndSum(float shift, std::span<float> x);

}  // namespace weir
