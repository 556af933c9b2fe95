// The functions of simd/math.h on Highway vectors of f32: the same bits in every lane, whatever the
// vector's width. Included per path (simd/foreach_isa-inl.h); pure.

// clang-format off
#if defined(WEIR_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_SIMD_MATH_INL_H_
#undef WEIR_SIMD_MATH_INL_H_
#else
#define WEIR_SIMD_MATH_INL_H_
#endif
// clang-format on

#include "hwy/highway.h"
#include "simd/math.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The lower of both, and the higher; NaN where x is NaN. hn::Min and hn::Max have x86's rule (the
// second operand where either is NaN), but on NEON they drop a NaN.
template <class V>
HWY_INLINE V AtMost(V limit, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vminq_f32(limit.raw, x.raw)};
#else
  return hn::Min(limit, x);
#endif
}
template <class V>
HWY_INLINE V AtLeast(V limit, V x) {
#if HWY_TARGET == HWY_NEON
  return V{vmaxq_f32(limit.raw, x.raw)};
#else
  return hn::Max(limit, x);
#endif
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V VExp(D d, V x) {
  using namespace math;
  const hn::RebindToUnsigned<D> du;
  const V round = hn::Set(d, kRoundToInt);
  const V clamped = AtMost(hn::Set(d, kExpMax), x);
  const V shifted = hn::MulAdd(clamped, hn::Set(d, kLog2E), round);
  const V n = hn::Sub(shifted, round);
  const V r = hn::MulAdd(n, hn::Set(d, -kLn2Rest), hn::MulAdd(n, hn::Set(d, -kLn2), clamped));
  V q = hn::MulAdd(hn::Set(d, kExpQ[4]), r, hn::Set(d, kExpQ[3]));
  q = hn::MulAdd(q, r, hn::Set(d, kExpQ[2]));
  q = hn::MulAdd(q, r, hn::Set(d, kExpQ[1]));
  q = hn::MulAdd(q, r, hn::Set(d, kExpQ[0]));
  const V p = hn::Add(hn::MulAdd(q, hn::Mul(r, r), r), hn::Set(d, 1.0F));
  const auto bits = hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kExpMin)), hn::BitCast(d, bits));
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V VTanh(D d, V x) {
  using namespace math;
  const V one = hn::Set(d, 1.0F);
  const V sign = hn::Set(d, -0.0F);
  const V magnitude = hn::AndNot(sign, x);
  const V t = hn::Mul(x, x);
  V p = hn::MulAdd(hn::Set(d, kTanhP[4]), t, hn::Set(d, kTanhP[3]));
  p = hn::MulAdd(p, t, hn::Set(d, kTanhP[2]));
  p = hn::MulAdd(p, t, hn::Set(d, kTanhP[1]));
  p = hn::MulAdd(p, t, hn::Set(d, kTanhP[0]));
  const V small = hn::MulAdd(x, hn::Mul(t, p), x);
  const V e = VExp(d, hn::Add(magnitude, magnitude));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(e, one)));
  const V signed_large = hn::Or(large, hn::And(sign, x));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, kTanhSmall)), small, signed_large);
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V VSilu(D d, V x) {
  const V e = VExp(d, hn::Neg(x));
  return hn::Div(x, hn::Add(hn::Set(d, 1.0F), e));
}

template <class D, class V = hn::VFromD<D>>
HWY_INLINE V VGeluTanh(D d, V x) {
  using namespace math;
  const V one = hn::Set(d, 1.0F);
  const V u = hn::Mul(hn::Mul(hn::Set(d, kGeluSlope), x),
                      hn::MulAdd(hn::Set(d, kGeluCubic), hn::Mul(x, x), one));
  const V e = VExp(d, hn::Neg(hn::Add(u, u)));
  return hn::Div(x, hn::Add(one, e));
}

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#endif  // per-target include guard
