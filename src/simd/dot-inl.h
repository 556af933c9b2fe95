// Sums of 8-bit products, unsigned weights times signed activations, as exact integers: what
// Highway 1.0.3 lacks. Included per path (simd/foreach_isa-inl.h); pure.

// clang-format off
#if defined(WEIR_SIMD_DOT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_SIMD_DOT_INL_H_
#undef WEIR_SIMD_DOT_INL_H_
#else
#define WEIR_SIMD_DOT_INL_H_
#endif
// clang-format on

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

// Before a loop with a constant count over arrays of vectors, which must become registers.
#if defined(__clang__)
#define WEIR_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WEIR_UNROLL _Pragma("GCC unroll 16")
#endif

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Adds, in each i32 lane, the 4 products of its bytes of `codes` with 4 activations, the same in
// all lanes. Codes are unsigned and below 2^kBits; activations lie in -127..127. A block is 8 quads
// added in order; a Dot is started, given its quads, and then read.
//
// AVX-512 has an instruction for it (VNNI). AVX2 multiplies bytes to pairwise 16-bit sums, which
// saturate: as many quads as surely fit are added in 16 bits (15 * 127 * 2 * 8 = 30480,
// 31 * 127 * 2 * 4 = 31496, 63 * 127 * 2 * 2 = 32004) before they widen. Codes of 8 bits do not
// fit, so they become signed (minus 128) and their sign moves to the activations: 128 * 127 * 2 =
// 32512 fits. Then the sum is already that of code - 128.
template <uint32_t kBits>
class Dot {
 public:
  using I32 = hn::CappedTag<int32_t, 16>;
  using U8 = hn::Repartition<uint8_t, I32>;
  using VI32 = hn::VFromD<I32>;
  using VU8 = hn::VFromD<U8>;

#if HWY_TARGET == HWY_AVX3
  static constexpr bool kSubtracts128 = false;

  HWY_INLINE void Start(VI32 sum) { sum_ = sum; }

  HWY_INLINE void Add(size_t /*quad*/, VU8 codes, const int8_t* activations) {
    sum_ = VI32{_mm512_dpbusd_epi32(sum_.raw, codes.raw, Broadcast(activations).raw)};
  }
#else
  static constexpr bool kSubtracts128 = kBits == 8;

  HWY_INLINE void Start(VI32 sum) { sum_ = sum; }

  HWY_INLINE void Add(size_t quad, VU8 codes, const int8_t* activations) {
    const __m256i a = Broadcast(activations).raw;
    __m256i pairs;
    if constexpr (kBits == 8) {
      const __m256i weights = _mm256_xor_si256(codes.raw, _mm256_set1_epi8(-128));
      pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(a, weights));
    } else {
      pairs = _mm256_maddubs_epi16(codes.raw, a);
    }
    if (quad % kQuadsIn16Bits != 0) pairs = _mm256_add_epi16(pairs_, pairs);
    pairs_ = pairs;
    if (quad % kQuadsIn16Bits == kQuadsIn16Bits - 1) {
      const __m256i quads = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
      sum_ = VI32{_mm256_add_epi32(sum_.raw, quads)};
    }
  }

 private:
  static constexpr size_t kQuadsIn16Bits = kBits == 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
  __m256i pairs_;

 public:
#endif
  [[nodiscard]] HWY_INLINE VI32 Sum() const { return sum_; }

 private:
  static HWY_INLINE VI32 Broadcast(const int8_t* activations) {
    int32_t four;
    std::memcpy(&four, activations, 4);
    return hn::Set(I32(), four);
  }

  VI32 sum_;
};

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#endif  // per-target include guard
