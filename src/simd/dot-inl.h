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

using DotSum = hn::VFromD<hn::CappedTag<int32_t, 16>>;
using DotCodes = hn::VFromD<hn::Repartition<uint8_t, hn::CappedTag<int32_t, 16>>>;

HWY_INLINE DotSum BroadcastQuad(const int8_t* activations) {
  int32_t four;
  std::memcpy(&four, activations, 4);
  return hn::Set(hn::CappedTag<int32_t, 16>(), four);
}

// sum + the 4 products of each lane, in one instruction. NEON's takes codes as signed numbers.
HWY_INLINE DotSum NativeAdd(DotSum sum, DotCodes codes, DotSum activations) {
#if HWY_TARGET == HWY_AVX3
  return DotSum{_mm512_dpbusd_epi32(sum.raw, codes.raw, activations.raw)};
#elif HWY_TARGET == HWY_NEON
  return DotSum{
      vdotq_s32(sum.raw, vreinterpretq_s8_u8(codes.raw), vreinterpretq_s8_s32(activations.raw))};
#else
  // AVX-VNNI, in assembly because this namespace is compiled for plain AVX2. {vex}: not the
  // AVX-512 instruction of that name.
  asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum.raw) : "x"(codes.raw), "x"(activations.raw));
  return sum;
#endif
}

// A Dot adds, in each i32 lane, the 4 products of its bytes of `codes` with 4 activations, the same
// in all lanes. Codes are unsigned and below 2^kBits; activations lie in -127..127. A block is 8
// quads added in order; a Dot is started, given its quads, and then read. kSubtracts128: the sum is
// already that of code - 128.

// For AVX-512 with VNNI, for CPUs with AVX-VNNI and for NEON with the dot product.
template <uint32_t kBits>
class NativeDot {
 public:
  static constexpr bool kSubtracts128 = HWY_TARGET == HWY_NEON && kBits == 8;

  HWY_INLINE NativeDot() {}  // GCC compiles a defaulted one for plain ARMv8, which cannot inline

  HWY_INLINE void Start(DotSum sum) { sum_ = sum; }

  HWY_INLINE void Add(size_t /*quad*/, DotCodes codes, const int8_t* activations) {
    if constexpr (kSubtracts128) {
      codes = hn::Xor(codes, hn::Set(hn::DFromV<DotCodes>(), uint8_t{0x80}));
    }
    sum_ = NativeAdd(sum_, codes, BroadcastQuad(activations));
  }

  [[nodiscard]] HWY_INLINE DotSum Sum() const { return sum_; }

 private:
  DotSum sum_;
};

#if HWY_TARGET == HWY_AVX2
// Multiplies bytes to pairwise 16-bit sums, which saturate: as many quads as surely fit are added
// in 16 bits (15 * 127 * 2 * 8 = 30480, 31 * 127 * 2 * 4 = 31496, 63 * 127 * 2 * 2 = 32004) before
// they widen. Codes of 8 bits do not fit, so they become signed (minus 128) and their sign moves to
// the activations: 128 * 127 * 2 = 32512 fits.
template <uint32_t kBits>
class PairDot {
 public:
  static constexpr bool kSubtracts128 = kBits == 8;

  HWY_INLINE void Start(DotSum sum) { sum_ = sum; }

  HWY_INLINE void Add(size_t quad, DotCodes codes, const int8_t* activations) {
    const __m256i a = BroadcastQuad(activations).raw;
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
      sum_ = DotSum{_mm256_add_epi32(sum_.raw, quads)};
    }
  }

  [[nodiscard]] HWY_INLINE DotSum Sum() const { return sum_; }

 private:
  static constexpr size_t kQuadsIn16Bits = kBits == 4 ? 8 : kBits == 5 ? 4 : kBits == 6 ? 2 : 1;
  __m256i pairs_;
  DotSum sum_;
};

template <uint32_t kBits>
using Dot = PairDot<kBits>;
#else
template <uint32_t kBits>
using Dot = NativeDot<kBits>;
#endif

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#endif  // per-target include guard
