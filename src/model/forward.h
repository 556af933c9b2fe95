// One forward pass over a batch of segments, driven by ModelConfig alone.
//
//   h = embedding * scale
//   for each layer:  h += post_norm(attention(norm(h)));  h += post_norm(ffn(norm(h)))
//   logits = softcap(head(final_norm(h)))       only for the rows that are wanted
//
// Every kernel below gives a row the same bits whatever rows are beside it, so a row of the result
// depends on its own sequence alone: not on chunks, batch or threads.
//
// Ownership: borrows config, weights and pool; keeps scratch. Threads: one caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "model/attention_block.h"
#include "model/feed_forward.h"
#include "model/model.h"
#include "model/rows.h"
#include "model/weights.h"
#include "quant/matmul.h"

namespace weir {

class ForwardPass {
 public:
  ForwardPass(const ModelConfig& config, const ModelWeights& weights, ThreadPool& pool);

  // As Model::Forward().
  std::span<const float> Run(std::span<const ForwardSegment> segments);

 private:
  void BeginStep(std::span<const ForwardSegment> segments);
  void ListWanted(const ForwardSegment& segment, uint32_t first_row);
  void Embed();
  // input = norm(h) of a row, after h has taken up what the part before produced.
  void NormRow(uint32_t row, std::span<const float> norm, std::span<float> input);
  void SetInput(std::span<const float> norm, const PackedMatrix& reader);
  std::span<const float> Logits();

  const ModelConfig& config_;
  const ModelWeights& weights_;
  ThreadPool& pool_;
  AttentionBlock attention_;
  FeedForward feed_forward_;

  std::vector<StepRow> rows_;
  std::vector<StepSegment> segments_;
  std::vector<uint32_t> wanted_;  // rows whose logits are wanted
  Step step_;
  AlignedArray<float> stream_;    // h: [rows, hidden]
  AlignedArray<float> normed_;    // [rows, hidden]: input of the part at hand
  AlignedArray<float> produced_;  // [rows, hidden]: output of the part before, not yet in h
  bool has_produced_ = false;
  std::span<const float> post_norm_;  // of produced_; empty: none
  Activations input_;                 // normed_
  AlignedArray<float> logits_;        // [wanted, vocabulary]
};

}  // namespace weir
