#include "model/forward.h"

#include <algorithm>

#include "base/check.h"
#include "simd/vector_ops.h"

namespace weir {

ForwardPass::ForwardPass(const ModelConfig& config, const ModelWeights& weights, ThreadPool& pool)
    : config_(config),
      weights_(weights),
      pool_(pool),
      attention_(config, pool),
      feed_forward_(config, pool) {}

std::span<const float> ForwardPass::Run(std::span<const ForwardSegment> segments) {
  BeginStep(segments);
  Embed();
  for (size_t i = 0; i < config_.layers.size(); ++i) {
    const LayerConfig& layer = config_.layers[i];
    const LayerWeights& weights = weights_.layers[i];
    SetInput(weights.attention_norm, weights.q);
    attention_.Run(step_, layer, weights, input_, produced_.data());
    post_norm_ = weights.post_attention_norm;
    has_produced_ = true;
    SetInput(weights.ffn_norm, layer.has_experts ? weights.router : weights.dense.gate);
    feed_forward_.Run(layer, weights, input_, produced_.data());
    post_norm_ = weights.post_ffn_norm;
  }
  return Logits();
}

void ForwardPass::BeginStep(std::span<const ForwardSegment> segments) {
  rows_.clear();
  segments_.clear();
  wanted_.clear();
  for (const ForwardSegment& segment : segments) {
    const uint32_t begin = segment.chunk->begin();
    WEIR_CHECK(segment.chunk->end() - begin == segment.tokens.size());
    const auto first_row = static_cast<uint32_t>(rows_.size());
    for (uint32_t i = 0; i < segment.tokens.size(); ++i) {
      rows_.push_back({segment.chunk, begin + i, segment.tokens[i]});
    }
    segments_.push_back({segment.chunk, first_row, static_cast<uint32_t>(segment.tokens.size())});
    ListWanted(segment, first_row);
  }
  step_ = {.rows = rows_, .segments = segments_};
  const size_t elements = rows_.size() * config_.hidden;
  stream_.EnsureCount(elements);
  normed_.EnsureCount(elements);
  produced_.EnsureCount(elements);
  has_produced_ = false;
  attention_.BeginStep(step_);
}

void ForwardPass::ListWanted(const ForwardSegment& segment, uint32_t first_row) {
  if (segment.logits == LogitsWanted::kNone || segment.tokens.empty()) return;
  const auto end = first_row + static_cast<uint32_t>(segment.tokens.size());
  const uint32_t begin = segment.logits == LogitsWanted::kAll ? first_row : end - 1;
  for (uint32_t row = begin; row < end; ++row) wanted_.push_back(row);
}

void ForwardPass::Embed() {
  const PackedMatrix& table = weights_.embedding_table();
  ForRows(pool_, step_.row_count(), [&](uint32_t row) {
    const auto h = RowOf(stream_.data(), row, config_.hidden);
    table.UnpackRow(static_cast<uint32_t>(rows_[row].token.value()), h);
    if (config_.embedding_scale != 1.0F) Scale(config_.embedding_scale, h);
  });
}

void ForwardPass::NormRow(uint32_t row, std::span<const float> norm, std::span<float> input) {
  const auto h = RowOf(stream_.data(), row, config_.hidden);
  if (has_produced_) {
    const auto produced = RowOf(produced_.data(), row, config_.hidden);
    if (!post_norm_.empty()) RmsNorm(produced, post_norm_, config_.norm_epsilon, produced);
    AddInPlace(produced, h);
  }
  RmsNorm(h, norm, config_.norm_epsilon, input);
}

// `reader`: the first matrix that reads the input.
void ForwardPass::SetInput(std::span<const float> norm, const PackedMatrix& reader) {
  input_.SetFilled(
      normed_.data(), step_.row_count(), config_.hidden, CodesFor(reader), pool_,
      [&](uint32_t row) { NormRow(row, norm, RowOf(normed_.data(), row, config_.hidden)); });
}

std::span<const float> ForwardPass::Logits() {
  const auto wanted = static_cast<uint32_t>(wanted_.size());
  if (wanted == 0) return {};
  input_.SetFilled(
      normed_.data(), wanted, config_.hidden, CodesFor(weights_.head), pool_, [&](uint32_t i) {
        NormRow(wanted_[i], weights_.final_norm, RowOf(normed_.data(), i, config_.hidden));
      });
  const size_t count = size_t{wanted} * config_.vocab_size;
  logits_.EnsureCount(count);
  MatMul(weights_.head, input_, logits_.data(), config_.vocab_size, pool_);
  if (config_.logit_softcap != 0.0F) {
    ForRows(pool_, wanted, [&](uint32_t i) {
      Softcap(config_.logit_softcap, RowOf(logits_.data(), i, config_.vocab_size));
    });
  }
  return {logits_.data(), count};
}

}  // namespace weir
