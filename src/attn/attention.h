// Attention of query rows over the tiles of one layer, in one fixed order.
//
// For each query row and head: every visible tile gives SoftmaxState{max, sum, out} with the tile's
// own maximum; states fold left over the 8 tiles of each 1,024-position split, then left over the
// splits. Splits are counted from position 0, so the order depends on positions alone: decode and
// prefill, any chunk, any batch and any thread count give the same bits.
//
//   score(i, j) = softcap(scale * q_i . k_j)   for i-W < j <= i (W = 0: all j <= i)
//   out_i = sum_j exp(score - m) v_j / (sum_j exp(score - m) + exp(sink - m))
//
// Threads: blocks of query rows of one KV head over the pool; with few of them (decode), their
// splits too.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "kv/sequence_view.h"

namespace weir {

struct AttentionShape {
  uint32_t q_heads =
      0;  // a multiple of kv_heads; query head h reads KV head h / (q_heads / kv_heads)
  uint32_t kv_heads = 0;
  uint32_t k_dim = 0;
  uint32_t v_dim = 0;
  uint32_t window = 0;  // W, own position included; 0: full
  float scale = 1.0F;
  float softcap = 0.0F;          // 0: none; else score = softcap * tanh(score / softcap)
  std::span<const float> sinks;  // empty, or one logit a query head in the softmax denominator
};

// The consecutive query rows of one sequence in a step.
struct AttentionSegment {
  TileTable tiles;  // from at or before the first tile that a row sees
  uint32_t first_position = 0;
  uint32_t row_count = 0;
  const float* queries = nullptr;  // [row_count, q_heads, k_dim]
  float* out = nullptr;            // [row_count, q_heads, v_dim], overwritten
};

class AttentionScratch;
struct AttentionKernels;

class Attention {
 public:
  explicit Attention(ThreadPool& pool);  // kernels of ChosenIsa()
  Attention(ThreadPool& pool, const AttentionKernels& kernels);
  ~Attention();

  // Rows of tiles outside the window, and rows that were never written, are never used.
  void Run(const AttentionShape& shape, std::span<const AttentionSegment> segments);

 private:
  ThreadPool& pool_;
  const AttentionKernels& kernels_;
  std::unique_ptr<AttentionScratch> scratch_;  // kept between calls; grows to the largest shape
};

}  // namespace weir
