// The attention of one layer: queries, keys and values of a step's rows, keys and values into the
// KV, attention over it, output projection. No norms of the residual stream and no sum: see
// forward.h.
//
// Ownership: borrows config and pool; keeps scratch that grows to the largest step seen.
// Threads: one caller.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attn/attention.h"
#include "base/aligned.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/rope.h"
#include "model/rows.h"
#include "model/weights.h"
#include "quant/matmul.h"

namespace weir {

class AttentionBlock {
 public:
  AttentionBlock(const ModelConfig& config, ThreadPool& pool);

  // Rotation angles of the rows' positions, for every layer of the step.
  void BeginStep(const Step& step);

  // x, out: [rows, hidden].
  void Run(const Step& step, const LayerConfig& layer, const LayerWeights& weights, Activations& x,
           float* out);

 private:
  // Rotation of one KV group.
  struct GroupRope {
    Rope rope;
    AlignedArray<SinCos> angles;  // [rows, rope.pair_count()]
  };

  [[nodiscard]] GroupRope& RopeOf(KvGroupKind group);
  void Project(const AttentionSpec& spec, const LayerWeights& weights, Activations& x);
  void NormTurnAndStore(const Step& step, const LayerConfig& layer, const LayerWeights& weights);
  void Attend(const Step& step, const LayerConfig& layer, const LayerWeights& weights);

  const ModelConfig& config_;
  ThreadPool& pool_;
  Attention attention_;
  std::optional<GroupRope> full_rope_;
  std::optional<GroupRope> window_rope_;
  Activations mixed_input_;
  AlignedArray<float> queries_;  // [rows, q_heads, k_dim]
  AlignedArray<float> keys_;     // [rows, kv_heads, k_dim]
  AlignedArray<float> values_;   // [rows, kv_heads, v_dim]
  AlignedArray<float> mixed_;    // [rows, q_heads, v_dim]
  std::vector<AttentionSegment> segments_;
};

}  // namespace weir
