// ExpRow for every instruction set, through Highway. Multiplications and additions are not fused,
// so all of them give ExpNonPositive's bits.
#include <algorithm>

#include "model/logits_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/exp_row.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V = hn::Vec<D>>
V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto is_term = hn::Gt(x, hn::Set(d, -87.0F));
  const V clamped = hn::IfThenElse(is_term, x, hn::Set(d, -87.0F));
  const V round = hn::Set(d, 12582912.0F);
  const V n = hn::Sub(hn::Add(hn::Mul(clamped, hn::Set(d, 1.44269504F)), round), round);
  const V high = hn::Sub(clamped, hn::Mul(n, hn::Set(d, 0.693359375F)));
  const V r = hn::Sub(high, hn::Mul(n, hn::Set(d, -2.12194440e-4F)));
  V p = hn::Set(d, 1.0F / 5040);
  for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F}) {
    p = hn::Add(hn::Mul(p, r), hn::Set(d, c));
  }
  const auto exponent = hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127));
  const V power = hn::BitCast(d, hn::ShiftLeft<23>(exponent));
  return hn::IfThenElseZero(is_term, hn::Mul(p, power));
}

void ExpRowTarget(const float* row, size_t count, float max, float temperature, float* out) {
  const hn::ScalableTag<float> d;
  const auto largest = hn::Set(d, std::numeric_limits<float>::max());
  const auto term = [&](hn::Vec<decltype(d)> x) {
    const auto clean = hn::IfThenElse(hn::Gt(x, largest), largest, x);
    return Exp(d, hn::Div(hn::Sub(clean, hn::Set(d, max)), hn::Set(d, temperature)));
  };
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(term(hn::LoadU(d, row + i)), d, out + i);
  if (i == count) return;
  HWY_ALIGN float rest[hn::MaxLanes(d)] = {};
  std::copy(row + i, row + count, rest);
  hn::Store(term(hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (count - i), out + i);
}

}  // namespace weir::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weir {

HWY_EXPORT(ExpRowTarget);

void ExpRow(std::span<const float> row, float max, float temperature, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(ExpRowTarget)(row.data(), row.size(), max, temperature, out.data());
}

}  // namespace weir
#endif
