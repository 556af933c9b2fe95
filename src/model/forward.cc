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
  for (size_t layer = 0; layer < config_.layers.size(); ++layer) {
    RunAttention(config_.layers[layer], weights_.layers[layer]);
    RunFeedForward(config_.layers[layer], weights_.layers[layer]);
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

void ForwardPass::RunAttention(const LayerConfig& layer, const LayerWeights& weights) {
  Norm(weights.attention_norm);
  attention_.Run(step_, layer, weights, normed_.data(), produced_.data());
  AddToStream(weights.post_attention_norm);
}

void ForwardPass::RunFeedForward(const LayerConfig& layer, const LayerWeights& weights) {
  Norm(weights.ffn_norm);
  feed_forward_.Run(layer, weights, normed_.data(), step_.row_count(), produced_.data());
  AddToStream(weights.post_ffn_norm);
}

void ForwardPass::Norm(std::span<const float> weight) {
  ForRows(pool_, step_.row_count(), [&](uint32_t row) {
    RmsNorm(RowOf(stream_.data(), row, config_.hidden), weight, config_.norm_epsilon,
            RowOf(normed_.data(), row, config_.hidden));
  });
}

void ForwardPass::AddToStream(std::span<const float> post_norm) {
  ForRows(pool_, step_.row_count(), [&](uint32_t row) {
    const auto produced = RowOf(produced_.data(), row, config_.hidden);
    if (!post_norm.empty()) RmsNorm(produced, post_norm, config_.norm_epsilon, produced);
    AddInPlace(produced, RowOf(stream_.data(), row, config_.hidden));
  });
}

std::span<const float> ForwardPass::Logits() {
  const auto wanted = static_cast<uint32_t>(wanted_.size());
  if (wanted == 0) return {};
  ForRows(pool_, wanted, [&](uint32_t i) {
    RmsNorm(RowOf(stream_.data(), wanted_[i], config_.hidden), weights_.final_norm,
            config_.norm_epsilon, RowOf(normed_.data(), i, config_.hidden));
  });
  const size_t count = size_t{wanted} * config_.vocab_size;
  logits_.EnsureCount(count);
  head_input_.Set(normed_.data(), wanted, config_.hidden);
  MatMul(weights_.head, head_input_, logits_.data(), config_.vocab_size, pool_);
  if (config_.logit_softcap != 0.0F) {
    ForRows(pool_, wanted, [&](uint32_t i) {
      Softcap(config_.logit_softcap, RowOf(logits_.data(), i, config_.vocab_size));
    });
  }
  return {logits_.data(), count};
}

}  // namespace weir
