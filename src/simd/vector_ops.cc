#include "simd/vector_ops.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/vector_ops.cc"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"
#include "simd/math-inl.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {

const hn::CappedTag<float, 16> df;
using V = hn::VFromD<decltype(df)>;
constexpr size_t kLanes = hn::MaxLanes(df);
constexpr size_t kVectors = 16 / kLanes;  // that hold the 16 partial results

// out[i] = op(x[i], y[i]); the last vector is loaded and stored through a copy.
template <class Op>
HWY_INLINE void Map(const float* x, const float* y, float* out, size_t count, const Op& op) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(op(hn::LoadU(df, x + i), hn::LoadU(df, y + i)), df, out + i);
  }
  if (i == count) return;
  HWY_ALIGN float last_x[kLanes] = {};
  HWY_ALIGN float last_y[kLanes] = {};
  for (size_t j = i; j < count; ++j) {
    last_x[j - i] = x[j];
    last_y[j - i] = y[j];
  }
  hn::Store(op(hn::Load(df, last_x), hn::Load(df, last_y)), df, last_x);
  for (size_t j = i; j < count; ++j) out[j] = last_x[j - i];
}

HWY_INLINE void StorePartials(const V (&partial)[kVectors], float* out) {
  for (size_t v = 0; v < kVectors; ++v) hn::StoreU(partial[v], df, out + v * kLanes);
}

// partial[i % 16] = fma(x[i], y[i], partial[i % 16])
void DotPartials(const float* x, const float* y, size_t count, float* out) {
  V partial[kVectors];
  for (V& p : partial) p = hn::Zero(df);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (size_t v = 0; v < kVectors; ++v) {
      const size_t at = i + v * kLanes;
      partial[v] = hn::MulAdd(hn::LoadU(df, x + at), hn::LoadU(df, y + at), partial[v]);
    }
  }
  StorePartials(partial, out);
  if (i == count) return;
  HWY_ALIGN float last_x[16] = {};
  HWY_ALIGN float last_y[16] = {};
  for (size_t j = i; j < count; ++j) {
    last_x[j - i] = x[j];
    last_y[j - i] = y[j];
  }
  for (size_t v = 0; v < kVectors; ++v) {
    const size_t at = v * kLanes;
    partial[v] = hn::MulAdd(hn::Load(df, last_x + at), hn::Load(df, last_y + at), partial[v]);
  }
  HWY_ALIGN float with_rest[16];
  StorePartials(partial, with_rest);
  for (size_t j = 0; j < count - i; ++j) out[j] = with_rest[j];
}

void MulBy(const float* x, const float* weight, float factor, float* out, size_t count) {
  const V f = hn::Set(df, factor);
  Map(x, weight, out, count, [&](V a, V w) WEIR_VECTOR_ATTR { return hn::Mul(hn::Mul(a, f), w); });
}

void Add(const float* x, float* y, size_t count) {
  Map(x, y, y, count, [](V a, V b) WEIR_VECTOR_ATTR { return hn::Add(b, a); });
}

void AddTimes(const float* x, float factor, float* y, size_t count) {
  const V f = hn::Set(df, factor);
  Map(x, y, y, count, [&](V a, V b) WEIR_VECTOR_ATTR { return hn::MulAdd(f, a, b); });
}

void ScaleBy(float factor, float* x, size_t count) {
  const V f = hn::Set(df, factor);
  Map(x, x, x, count, [&](V a, V) WEIR_VECTOR_ATTR { return hn::Mul(a, f); });
}

void SiluTimes(const float* gate, const float* up, float* out, size_t count) {
  Map(gate, up, out, count, [](V g, V u) WEIR_VECTOR_ATTR { return hn::Mul(VSilu(df, g), u); });
}

void GeluTimes(const float* gate, const float* up, float* out, size_t count) {
  Map(gate, up, out, count, [](V g, V u) WEIR_VECTOR_ATTR { return hn::Mul(VGeluTanh(df, g), u); });
}

void SoftcapBy(float cap, float* x, size_t count) {
  const V c = hn::Set(df, cap);
  Map(x, x, x, count,
      [&](V a, V) WEIR_VECTOR_ATTR { return hn::Mul(c, VTanh(df, hn::Div(a, c))); });
}

void ExpOf(float shift, float* x, size_t count) {
  const V s = hn::Set(df, shift);
  Map(x, x, x, count, [&](V a, V) WEIR_VECTOR_ATTR { return VExp(df, hn::Sub(a, s)); });
}

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#if HWY_ONCE
namespace weir {
namespace scalar {
namespace {

void DotPartials(const float* x, const float* y, size_t count, float* out) {
  for (size_t lane = 0; lane < 16; ++lane) out[lane] = 0.0F;
  for (size_t i = 0; i < count; ++i) out[i % 16] = std::fma(x[i], y[i], out[i % 16]);
}

void MulBy(const float* x, const float* weight, float factor, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = (x[i] * factor) * weight[i];
}

void Add(const float* x, float* y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] += x[i];
}

void AddTimes(const float* x, float factor, float* y, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = std::fma(factor, x[i], y[i]);
}

void ScaleBy(float factor, float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] *= factor;
}

void SiluTimes(const float* gate, const float* up, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = Silu(gate[i]) * up[i];
}

void GeluTimes(const float* gate, const float* up, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = GeluTanh(gate[i]) * up[i];
}

void SoftcapBy(float cap, float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = cap * Tanh(x[i] / cap);
}

void ExpOf(float shift, float* x, size_t count) {
  for (size_t i = 0; i < count; ++i) x[i] = Exp(x[i] - shift);
}

}  // namespace
}  // namespace scalar

namespace {

float Fold(std::array<float, 16>& partial) {
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t lane = 0; lane < half; ++lane) partial[lane] += partial[lane + half];
  }
  return partial[0];
}

}  // namespace

float Dot(std::span<const float> x, std::span<const float> y) {
  WEIR_DCHECK(x.size() == y.size());
  std::array<float, 16> partial;
  WEIR_CHOOSE(scalar::DotPartials, DotPartials)(x.data(), y.data(), x.size(), partial.data());
  return Fold(partial);
}

float SumOfSquares(std::span<const float> x) { return Dot(x, x); }

void RmsNorm(std::span<const float> x, std::span<const float> weight, float eps,
             std::span<float> out) {
  WEIR_DCHECK(out.size() == x.size() && (weight.empty() || weight.size() == x.size()));
  const float mean = SumOfSquares(x) / static_cast<float>(x.size());
  const float factor = 1.0F / std::sqrt(mean + eps);  // both correctly rounded
  if (weight.empty()) {
    for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] * factor;
    return;
  }
  WEIR_CHOOSE(scalar::MulBy, MulBy)(x.data(), weight.data(), factor, out.data(), x.size());
}

void AddInPlace(std::span<const float> x, std::span<float> y) {
  WEIR_DCHECK(x.size() == y.size());
  WEIR_CHOOSE(scalar::Add, Add)(x.data(), y.data(), x.size());
}

void AddScaled(std::span<const float> x, float factor, std::span<float> y) {
  WEIR_DCHECK(x.size() == y.size());
  WEIR_CHOOSE(scalar::AddTimes, AddTimes)(x.data(), factor, y.data(), x.size());
}

void Scale(float factor, std::span<float> x) {
  WEIR_CHOOSE(scalar::ScaleBy, ScaleBy)(factor, x.data(), x.size());
}

void SiluMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  WEIR_DCHECK(gate.size() == up.size() && out.size() == up.size());
  WEIR_CHOOSE(scalar::SiluTimes, SiluTimes)(gate.data(), up.data(), out.data(), out.size());
}

void GeluTanhMul(std::span<const float> gate, std::span<const float> up, std::span<float> out) {
  WEIR_DCHECK(gate.size() == up.size() && out.size() == up.size());
  WEIR_CHOOSE(scalar::GeluTimes, GeluTimes)(gate.data(), up.data(), out.data(), out.size());
}

void Softcap(float cap, std::span<float> x) {
  WEIR_CHOOSE(scalar::SoftcapBy, SoftcapBy)(cap, x.data(), x.size());
}

float ExpAndSum(float shift, std::span<float> x) {
  WEIR_CHOOSE(scalar::ExpOf, ExpOf)(shift, x.data(), x.size());
  std::array<float, 16> partial = {};
  for (size_t i = 0; i < x.size(); ++i) partial[i % 16] += x[i];
  return Fold(partial);
}

}  // namespace weir
#endif  // HWY_ONCE
