// The inner loops of attention, one table an ISA.
//
// Every table gives the same bits: sums have one order that no vector width changes (below), every
// multiply-add is fused, and exp is one polynomial (simd/math.h). The scalar table is the
// specification.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simd/isa.h"

namespace weir {

// What a row has seen of the keys so far: out = sum_j exp(score_j - max) v_j, sum likewise without
// v_j. sum == 0: nothing yet (else sum >= 1, the maximum's own term).
struct SoftmaxStats {
  float max = 0.0F;
  float sum = 0.0F;
};

// c[r][n] = sum over k in [0, inner) of a[r][k] * b[k][n], for rows r and columns n.
//   a  [rows, a_stride] f32      b  [inner, b_stride] f32 or f16      c  [rows, c_stride] f32
// One fused chain an element, k ascending, begun at c (kAdd) or at zero (kSet). Scores are
// Q [rows, k_dim] times K [k_dim, 128]; the value mix is P [rows, tokens] times V [tokens, v_dim].
enum class ProductStart : uint8_t { kSet, kAdd };
template <class B>
struct Product {
  const float* a = nullptr;
  size_t a_stride = 0;
  const B* b = nullptr;  // uint16_t holds an f16; columns past the last may be read up to a
  size_t b_stride = 0;   // multiple of 16 (never used), so b_stride >= columns rounded up to 16
  float* c = nullptr;    // may be overwritten likewise: c_stride >= columns rounded up to 16
  size_t c_stride = 0;
  uint32_t rows = 0;
  uint32_t inner = 0;
  uint32_t columns = 0;
  ProductStart start = ProductStart::kSet;
  // What the caller reads next: fetched towards L2 meanwhile (f16 only, no effect on results).
  // One row of attention is bound by memory, and the next plane is somewhere else.
  const B* ahead = nullptr;
  size_t ahead_count = 0;
};

struct AttentionKernels {
  void (*multiply_half)(const Product<uint16_t>& product);
  void (*multiply_float)(const Product<float>& product);

  // Turns scores [begin, end) of a tile's 128 into exp(score - max), max over these only; the rest
  // of the 128 become 0 or stay. softcap as in AttentionShape. Sum: term j goes to lane j % 16,
  // each lane in ascending order; then lanes l and l + 8, + 4, + 2, + 1. Requires begin < end <=
  // 128.
  SoftmaxStats (*softmax)(float* scores, uint32_t begin, uint32_t end, float softcap);

  // Joins `stats`/`out` (seen later) to the left state: m = max of both, each side scaled by
  // exp(own max - m): sum = fma(b.sum, eb, a.sum * ea), out alike. `count` is a multiple of 16.
  void (*fold)(SoftmaxStats& into, float* into_out, const SoftmaxStats& stats, const float* out,
               size_t count);

  // f16 [rows, columns] to f32 [rows, to_stride].
  void (*widen)(const uint16_t* from, size_t from_stride, float* to, size_t to_stride,
                uint32_t rows, uint32_t columns);
};

// Requires an ISA of SupportedIsas().
[[nodiscard]] const AttentionKernels& AttentionKernelsOf(Isa isa);

extern const AttentionKernels kScalarAttentionKernels;

}  // namespace weir
