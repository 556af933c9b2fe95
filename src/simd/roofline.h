// The two limits that kernels are measured against: how fast a core reads memory, and how fast it
// multiplies and adds bytes. Both loops do nothing else, and their results can be checked.
//
// Pure functions, any thread; whoever times them calls one on each thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "simd/isa.h"

namespace weir {

// Sum of all words, modulo 2^64. Vector loads into independent sums and a software prefetch
// `prefetch_bytes` ahead of them: bound by memory alone where the words are in no cache. Which
// distance is best depends on the CPU: 1-2 KiB read 17.3 GB/s on one thread of a 2.6 GHz Sapphire
// Rapids guest, 12 KiB 13.5, none 16 (2026-11). Any count, any alignment.
[[nodiscard]] uint64_t SumWords(std::span<const uint64_t> words, uint32_t prefetch_bytes);

// Bytes that a multiply-add loop keeps in registers: codes unsigned and at most 15, so that AVX2's
// 16-bit pair sums hold eight of them (simd/dot-inl.h); activations in -127..127.
struct MultiplyAddInput {
  std::array<uint8_t, 64> codes;
  std::array<int8_t, 64> activations;
};

// One way of multiplying bytes: a path may have several, and its limit is the fastest.
struct MultiplyAddLoop {
  const char* instruction;  // "vpdpbusd"
  uint32_t dots_per_round;  // 64 products, and as many additions, each
  // rounds * dots_per_round * (sum of codes[i] * activations[i]), modulo 2^32.
  uint32_t (*run)(const MultiplyAddInput& input, uint64_t rounds);
};

// A multiplication and an addition are two operations, as in every vendor's figure.
[[nodiscard]] constexpr uint64_t OperationsPerRound(const MultiplyAddLoop& loop) {
  return uint64_t{loop.dots_per_round} * 64 * 2;
}

// What kernels of the path may use; never empty. The scalar path's loop is what a compiler makes of
// plain C++.
[[nodiscard]] std::span<const MultiplyAddLoop> MultiplyAddLoopsOf(Isa isa);

}  // namespace weir
