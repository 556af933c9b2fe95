#include <limits>

#include "attn/attention_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attn/vector_kernels.cc"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"
#include "simd/math-inl.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace {

const hn::CappedTag<float, 16> df;
using V = hn::VFromD<decltype(df)>;
constexpr size_t kLanes = hn::MaxLanes(df);
constexpr size_t kVectors = 16 / kLanes;  // that hold the 16 lanes of a sum

HWY_INLINE V LoadFloats(const float* from) { return hn::LoadU(df, from); }
HWY_INLINE V LoadFloats(const uint16_t* from) {
  const hn::Rebind<hwy::float16_t, decltype(df)> half;
  return hn::PromoteTo(df, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

// Walks over the halves that are needed next, as fast as a block reads those it needs now.
struct ReadAhead {
  const uint16_t* at;
  const uint16_t* end;

  template <size_t kHalves>
  HWY_INLINE void Step() {
    if (at >= end) return;
#pragma GCC unroll 16
    for (size_t i = 0; i < kHalves; i += 32) __builtin_prefetch(at + i, 0, 2);
    at += kHalves;
  }
};

// kRows x kWide vectors of c: a's elements broadcast, b's row loaded once for all rows. The
// accumulators stay in registers, so kRows * kWide + kWide + 1 must fit there.
template <size_t kRows, size_t kWide, class B>
HWY_INLINE void MultiplyBlock(const Product<B>& product, const float* HWY_RESTRICT a,
                              const B* HWY_RESTRICT b, float* HWY_RESTRICT c, ReadAhead& ahead) {
  V sum[kRows][kWide];
#pragma GCC unroll 16
  for (size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (size_t wide = 0; wide < kWide; ++wide) {
      sum[row][wide] = product.start == ProductStart::kAdd
                           ? hn::LoadU(df, c + row * product.c_stride + wide * kLanes)
                           : hn::Zero(df);
    }
  }
  for (uint32_t k = 0; k < product.inner; ++k, b += product.b_stride) {
    if constexpr (sizeof(B) == 2) ahead.Step<kWide * kLanes>();
    V right[kWide];
#pragma GCC unroll 16
    for (size_t wide = 0; wide < kWide; ++wide) right[wide] = LoadFloats(b + wide * kLanes);
#pragma GCC unroll 16
    for (size_t row = 0; row < kRows; ++row) {
      const V left = hn::Set(df, a[row * product.a_stride + k]);
#pragma GCC unroll 16
      for (size_t wide = 0; wide < kWide; ++wide) {
        sum[row][wide] = hn::MulAdd(left, right[wide], sum[row][wide]);
      }
    }
  }
#pragma GCC unroll 16
  for (size_t row = 0; row < kRows; ++row) {
#pragma GCC unroll 16
    for (size_t wide = 0; wide < kWide; ++wide) {
      hn::StoreU(sum[row][wide], df, c + row * product.c_stride + wide * kLanes);
    }
  }
}

// The columns of one panel (kWide vectors) for all rows, kRows at a time; returns the rows done.
template <size_t kRows, size_t kWide, class B>
HWY_INLINE uint32_t MultiplyRows(const Product<B>& product, uint32_t row, size_t column,
                                 ReadAhead& ahead) {
  for (; row + kRows <= product.rows; row += kRows) {
    MultiplyBlock<kRows, kWide>(product, product.a + row * product.a_stride, product.b + column,
                                product.c + row * product.c_stride + column, ahead);
  }
  return row;
}

// All columns for the rows that are left, kRows at a time, in panels of kWide vectors: a panel of b
// stays in L1 while the rows pass.
template <size_t kRows, size_t kWide, class B>
HWY_NOINLINE uint32_t MultiplyPanels(const Product<B>& product, uint32_t first_row,
                                     ReadAhead& ahead) {
  const size_t columns = (product.columns + kLanes - 1) / kLanes * kLanes;
  size_t column = 0;
  uint32_t row = first_row;
  for (; column + kWide * kLanes <= columns; column += kWide * kLanes) {
    row = MultiplyRows<kRows, kWide>(product, first_row, column, ahead);
  }
  for (; column < columns; column += kLanes) {
    row = MultiplyRows<kRows, 1>(product, first_row, column, ahead);
  }
  return row;
}

template <class B>
void Multiply(const Product<B>& product) {
  ReadAhead ahead{};
  if constexpr (sizeof(B) == 2) ahead = {product.ahead, product.ahead + product.ahead_count};
  uint32_t row = 0;
  if constexpr (kLanes == 16) {  // 32 registers
    if (product.rows - row >= 12) row = MultiplyPanels<12, 2>(product, row, ahead);
    if (product.rows - row >= 6) row = MultiplyPanels<6, 4>(product, row, ahead);
    if (product.rows - row >= 4) row = MultiplyPanels<4, 4>(product, row, ahead);
    if (product.rows - row >= 3) row = MultiplyPanels<3, 8>(product, row, ahead);
  } else {  // 16 registers
    if (product.rows - row >= 6) row = MultiplyPanels<6, 2>(product, row, ahead);
    if (product.rows - row >= 4) row = MultiplyPanels<4, 2>(product, row, ahead);
    if (product.rows - row >= 3) row = MultiplyPanels<3, 3>(product, row, ahead);
  }
  if (product.rows - row >= 2)
    row = MultiplyPanels < 2, kLanes == 16 ? 8 : 4 > (product, row, ahead);
  if (product.rows - row >= 1) MultiplyPanels<1, 8>(product, row, ahead);
}

// Lanes of the vector at `at` that lie in [begin, end).
HWY_INLINE auto LanesBetween(size_t at, uint32_t begin, uint32_t end) {
  const V slots = hn::Iota(df, static_cast<float>(at));
  return hn::And(hn::Ge(slots, hn::Set(df, static_cast<float>(begin))),
                 hn::Lt(slots, hn::Set(df, static_cast<float>(end))));
}

SoftmaxStats Softmax(float* scores, uint32_t begin, uint32_t end, float softcap) {
  const size_t first = begin / kLanes * kLanes;
  if (softcap != 0.0F) {
    const V cap = hn::Set(df, softcap);
    for (size_t at = first; at < end; at += kLanes) {
      const V score = hn::LoadU(df, scores + at);
      hn::StoreU(hn::Mul(cap, VTanh(df, hn::Div(score, cap))), df, scores + at);
    }
  }
  const V lowest = hn::Set(df, std::numeric_limits<float>::lowest());
  V max = lowest;
  for (size_t at = first; at < end; at += kLanes) {
    const V score = hn::LoadU(df, scores + at);
    max = hn::Max(max, hn::IfThenElse(LanesBetween(at, begin, end), score, lowest));
  }
  max = hn::MaxOfLanes(df, max);
  V lanes[kVectors];
  for (V& lane : lanes) lane = hn::Zero(df);
  for (size_t at = first; at < end; at += kLanes) {
    const V term = VExp(df, hn::Sub(hn::LoadU(df, scores + at), max));
    const V seen = hn::IfThenElseZero(LanesBetween(at, begin, end), term);
    hn::StoreU(seen, df, scores + at);
    V& lane = lanes[at / kLanes % kVectors];
    lane = hn::Add(lane, seen);
  }
  HWY_ALIGN float sum[16];
  for (size_t v = 0; v < kVectors; ++v) hn::Store(lanes[v], df, sum + v * kLanes);
  for (size_t step = 8; step > 0; step /= 2) {
    for (size_t lane = 0; lane < step; ++lane) sum[lane] += sum[lane + step];
  }
  return {hn::GetLane(max), sum[0]};
}

void Fold(SoftmaxStats& into, float* into_out, const SoftmaxStats& stats, const float* out,
          size_t count) {
  if (into.sum == 0.0F) {
    into = stats;
    for (size_t i = 0; i < count; i += kLanes) {
      hn::StoreU(hn::LoadU(df, out + i), df, into_out + i);
    }
    return;
  }
  const float max = into.max < stats.max ? stats.max : into.max;
  const V left = VExp(df, hn::Set(df, into.max - max));
  const V right = VExp(df, hn::Set(df, stats.max - max));
  const V sum = hn::MulAdd(hn::Set(df, stats.sum), right, hn::Mul(hn::Set(df, into.sum), left));
  into = {max, hn::GetLane(sum)};
  for (size_t i = 0; i < count; i += kLanes) {
    const V scaled = hn::Mul(hn::LoadU(df, into_out + i), left);
    hn::StoreU(hn::MulAdd(hn::LoadU(df, out + i), right, scaled), df, into_out + i);
  }
}

void WidenRows(const uint16_t* from, size_t from_stride, float* to, size_t to_stride, uint32_t rows,
               uint32_t columns) {
  for (uint32_t row = 0; row < rows; ++row, from += from_stride, to += to_stride) {
    size_t n = 0;
    for (; n + kLanes <= columns; n += kLanes) hn::StoreU(LoadFloats(from + n), df, to + n);
    if (n == columns) continue;
    HWY_ALIGN uint16_t last[kLanes] = {};
    for (size_t i = n; i < columns; ++i) last[i - n] = from[i];
    hn::StoreU(LoadFloats(last), df, to + n);  // to_stride leaves room for the whole vector
  }
}

}  // namespace

extern const AttentionKernels kAttentionKernels;
const AttentionKernels kAttentionKernels = {.multiply_half = Multiply<uint16_t>,
                                            .multiply_float = Multiply<float>,
                                            .softmax = Softmax,
                                            .fold = Fold,
                                            .widen = WidenRows};

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#if HWY_ONCE
namespace weir {

const AttentionKernels& AttentionKernelsOf(Isa isa) {
  return *WEIR_CHOOSE_OF(isa, kScalarAttentionKernels, kAttentionKernels);
}

}  // namespace weir
#endif  // HWY_ONCE
