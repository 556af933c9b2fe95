// The specification of AttentionKernels, one element at a time.
#include <algorithm>
#include <cmath>

#include "attn/attention_kernels.h"
#include "simd/half.h"
#include "simd/math.h"

namespace weir {
namespace {

float Widen(float value) { return value; }
float Widen(uint16_t bits) { return HalfToFloat(bits); }

template <class B>
void Multiply(const Product<B>& product) {
  for (uint32_t row = 0; row < product.rows; ++row) {
    const float* a = product.a + row * product.a_stride;
    float* c = product.c + row * product.c_stride;
    for (uint32_t n = 0; n < product.columns; ++n) {
      float sum = product.start == ProductStart::kAdd ? c[n] : 0.0F;
      for (uint32_t k = 0; k < product.inner; ++k) {
        sum = std::fma(a[k], Widen(product.b[k * product.b_stride + n]), sum);
      }
      c[n] = sum;
    }
  }
}

SoftmaxStats Softmax(float* scores, uint32_t begin, uint32_t end, float softcap) {
  if (softcap != 0.0F) {
    for (uint32_t j = begin; j < end; ++j) scores[j] = softcap * Tanh(scores[j] / softcap);
  }
  const float max = *std::max_element(scores + begin, scores + end);
  float lanes[16] = {};
  for (uint32_t j = begin; j < end; ++j) {
    scores[j] = Exp(scores[j] - max);
    lanes[j % 16] += scores[j];
  }
  for (uint32_t step = 8; step > 0; step /= 2) {
    for (uint32_t lane = 0; lane < step; ++lane) lanes[lane] += lanes[lane + step];
  }
  return {max, lanes[0]};
}

void Fold(SoftmaxStats& into, float* into_out, const SoftmaxStats& stats, const float* out,
          size_t count) {
  if (into.sum == 0.0F) {
    into = stats;
    std::copy_n(out, count, into_out);
    return;
  }
  const float max = std::max(into.max, stats.max);
  const float left = Exp(into.max - max);
  const float right = Exp(stats.max - max);
  into = {max, std::fma(stats.sum, right, into.sum * left)};
  for (size_t i = 0; i < count; ++i) into_out[i] = std::fma(out[i], right, into_out[i] * left);
}

void WidenRows(const uint16_t* from, size_t from_stride, float* to, size_t to_stride, uint32_t rows,
               uint32_t columns) {
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t n = 0; n < columns; ++n) {
      to[row * to_stride + n] = HalfToFloat(from[row * from_stride + n]);
    }
  }
}

}  // namespace

const AttentionKernels kScalarAttentionKernels = {.multiply_half = Multiply<uint16_t>,
                                                  .multiply_float = Multiply<float>,
                                                  .softmax = Softmax,
                                                  .fold = Fold,
                                                  .widen = WidenRows};

}  // namespace weir
