#include "simd/roofline.h"

#include <cstddef>
#include <numeric>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/roofline.cc"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"
#include "simd/dot-inl.h"

// Makes `value` unknown to the compiler, at no instruction: a product of constants would be
// computed once, before the loop.
#if defined(__aarch64__)
#define WEIR_UNKNOWN(value) asm volatile("" : "+w"(value))
#else
#define WEIR_UNKNOWN(value) asm volatile("" : "+v"(value))
#endif

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {

// 256 bytes a turn, in independent sums.
uint64_t SumOfWords(const uint64_t* words, size_t count, size_t prefetch_words) {
  const hn::CappedTag<uint64_t, 8> d;
  constexpr size_t kLanes = hn::MaxLanes(d);
  constexpr size_t kTurn = 32;
  hn::VFromD<decltype(d)> sums[kTurn / kLanes];
  for (auto& sum : sums) sum = hn::Zero(d);
  size_t i = 0;
  for (; i + kTurn <= count; i += kTurn) {
    WEIR_UNROLL
    for (size_t line = 0; line < kTurn; line += 8) {
      __builtin_prefetch(words + i + prefetch_words + line);
    }
    WEIR_UNROLL
    for (size_t v = 0; v < kTurn / kLanes; ++v) {
      sums[v] = hn::Add(sums[v], hn::LoadU(d, words + i + v * kLanes));
    }
  }
  HWY_ALIGN uint64_t lanes[kLanes];
  uint64_t total = 0;
  for (const auto& sum : sums) {
    hn::Store(sum, d, lanes);
    for (const uint64_t lane : lanes) total += lane;
  }
  for (; i < count; ++i) total += words[i];
  return total;
}

// An instruction takes 4 or 5 cycles and two may start in each, so 10 sums keep it busy; AVX2 has
// 16 registers.
constexpr size_t kParts = 64 / sizeof(DotSum);  // vectors of the input
constexpr uint32_t kNativeSums = HWY_TARGET == HWY_AVX2 ? 10 : 16;
constexpr uint32_t kNativeDotsPerRound = kNativeSums / kParts;

uint32_t NativeRounds(const MultiplyAddInput& input, uint64_t rounds) {
  const hn::CappedTag<uint32_t, 16> du32;
  const hn::CappedTag<int32_t, 16> di32;
  const hn::CappedTag<uint8_t, 64> du8;
  DotCodes codes[kParts];
  DotSum activations[kParts];
  for (size_t part = 0; part < kParts; ++part) {
    const size_t at = part * sizeof(DotSum);
    codes[part] = hn::LoadU(du8, &input.codes[at]);
    activations[part] =
        hn::BitCast(di32, hn::LoadU(hn::CappedTag<int8_t, 64>(), &input.activations[at]));
  }
  DotSum sums[kNativeSums];
  for (DotSum& sum : sums) sum = hn::Zero(di32);
  for (uint64_t round = 0; round < rounds; ++round) {
    WEIR_UNROLL
    for (size_t i = 0; i < kNativeSums; ++i) {
      WEIR_UNKNOWN(activations[i % kParts].raw);
      sums[i] = NativeAdd(sums[i], codes[i % kParts], activations[i % kParts]);
    }
  }
  auto total = hn::Zero(du32);
  for (const DotSum& sum : sums) total = hn::Add(total, hn::BitCast(du32, sum));
  return hn::GetLane(hn::SumOfLanes(du32, total));
}

#if HWY_TARGET == HWY_AVX2
constexpr uint32_t kPairSums = 6;
constexpr uint32_t kPairDotsPerRound = kPairSums * 4;

// A round adds eight pair sums in 16 bits before they widen, as Dot<4> does: four times both halves
// of the input.
uint32_t PairRounds(const MultiplyAddInput& input, uint64_t rounds) {
  __m256i codes[2];
  __m256i activations[2];
  for (size_t half = 0; half < 2; ++half) {
    codes[half] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&input.codes[32 * half]));
    activations[half] =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&input.activations[32 * half]));
  }
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[kPairSums] = {};
  for (uint64_t round = 0; round < rounds; ++round) {
    WEIR_UNROLL
    for (__m256i& sum : sums) {
      __m256i pairs = _mm256_setzero_si256();
      WEIR_UNROLL
      for (size_t i = 0; i < 8; ++i) {
        WEIR_UNKNOWN(activations[i % 2]);
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(codes[i % 2], activations[i % 2]));
      }
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
  }
  uint32_t total = 0;
  for (const __m256i& sum : sums) {
    alignas(32) uint32_t lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (const uint32_t lane : lanes) total += lane;
  }
  return total;
}
#endif

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#if HWY_ONCE
namespace weir {
namespace scalar {
namespace {

constexpr uint32_t kDotsPerRound = 1;

uint64_t SumOfWords(const uint64_t* words, size_t count, size_t /*prefetch_words*/) {
  return std::accumulate(words, words + count, uint64_t{0});
}

uint32_t MultiplyAddRounds(const MultiplyAddInput& input, uint64_t rounds) {
  uint32_t total = 0;
  for (uint64_t round = 0; round < rounds; ++round) {
    const MultiplyAddInput* same = &input;
    asm volatile("" : "+r"(same));  // the round's products are unknown to the compiler
    for (size_t i = 0; i < 64; ++i) {
      total += static_cast<uint32_t>(same->codes[i] * same->activations[i]);
    }
  }
  return total;
}

}  // namespace
}  // namespace scalar

uint64_t SumWords(std::span<const uint64_t> words, uint32_t prefetch_bytes) {
  return WEIR_CHOOSE(scalar::SumOfWords, SumOfWords)(words.data(), words.size(),
                                                     prefetch_bytes / 8);
}

std::span<const MultiplyAddLoop> MultiplyAddLoopsOf(Isa isa) {
  static constexpr MultiplyAddLoop kScalar[] = {
      {"C++", scalar::kDotsPerRound, &scalar::MultiplyAddRounds}};
#if defined(__x86_64__)
  static constexpr MultiplyAddLoop kAvx2[] = {
      {"vpmaddubsw", N_AVX2::kPairDotsPerRound, &N_AVX2::PairRounds}};
  static constexpr MultiplyAddLoop kAvxVnni[] = {
      {"vpdpbusd", N_AVX2::kNativeDotsPerRound, &N_AVX2::NativeRounds}};
  static constexpr MultiplyAddLoop kAvx512[] = {
      {"vpdpbusd", N_AVX3::kNativeDotsPerRound, &N_AVX3::NativeRounds}};
  if (isa == Isa::kAvx512 || isa == Isa::kAmx) return kAvx512;
  if (isa == Isa::kAvxVnni) return kAvxVnni;
  if (isa == Isa::kAvx2) return kAvx2;
#elif WEIR_HAS_NEON
  static constexpr MultiplyAddLoop kNeon[] = {
      {"sdot", N_NEON::kNativeDotsPerRound, &N_NEON::NativeRounds}};
  if (isa == Isa::kNeon) return kNeon;
#endif
  (void)isa;
  return kScalar;
}

}  // namespace weir
#endif  // HWY_ONCE
