// The feed-forward part of one layer: one gated network, or the few that a router chooses.
//
//   dense    out = down(act(gate(x)) * up(x))
//   experts  out = sum of weight_e * dense_e(x) over the row's experts, best first
//
// Rows of one expert are computed together, and every row's products are kept until its own sum is
// taken in its own order: so a row never depends on which others went where.
//
// Ownership: borrows config and pool; keeps scratch that grows to the largest step seen.
// Threads: one caller.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/router.h"
#include "model/weights.h"
#include "quant/matmul.h"

namespace weir {

class FeedForward {
 public:
  FeedForward(const ModelConfig& config, ThreadPool& pool);

  // x, out: [rows, hidden].
  void Run(const LayerConfig& layer, const LayerWeights& weights, Activations& x, float* out);

 private:
  void RunGated(const GatedWeights& weights, Activations& x, float* out);
  void RunExperts(const LayerWeights& weights, Activations& x, float* out);
  void Route(const LayerWeights& weights, Activations& x);
  void RunExpert(const GatedWeights& weights, const float* x);

  const ModelConfig& config_;
  ThreadPool& pool_;
  Activations inner_;
  AlignedArray<float> gate_;  // [rows, ffn hidden]
  AlignedArray<float> up_;    // [rows, ffn hidden]

  AlignedArray<float> router_logits_;   // [rows, experts]
  AlignedArray<ExpertChoice> choices_;  // [rows, used]
  AlignedArray<float> products_;        // [rows, used, hidden]
  Activations expert_input_;            // gathered_
  AlignedArray<float> gathered_;        // [rows of one expert, hidden], in and then out
  std::vector<uint32_t> places_;        // of choices_ that chose the expert at hand
};

}  // namespace weir
