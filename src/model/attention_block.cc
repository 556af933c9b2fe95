#include "model/attention_block.h"

#include <array>

#include "simd/vector_ops.h"

namespace weir {
namespace {

// Each head of a row by itself; an empty weight leaves the row as it is.
void NormHeads(std::span<const float> weight, float epsilon, std::span<float> row) {
  if (weight.empty()) return;
  for (size_t head = 0; head < row.size(); head += weight.size()) {
    const std::span<float> x = row.subspan(head, weight.size());
    RmsNorm(x, weight, epsilon, x);
  }
}

}  // namespace

AttentionBlock::AttentionBlock(const ModelConfig& config, ThreadPool& pool)
    : config_(config), pool_(pool), attention_(pool) {
  if (config.full) full_rope_.emplace(GroupRope{Rope(config.full->rope), {}});
  if (config.window) window_rope_.emplace(GroupRope{Rope(config.window->rope), {}});
}

AttentionBlock::GroupRope& AttentionBlock::RopeOf(KvGroupKind group) {
  return group == KvGroupKind::kFull ? *full_rope_ : *window_rope_;
}

void AttentionBlock::BeginStep(const Step& step) {
  for (auto* group : {&full_rope_, &window_rope_}) {
    if (!*group) continue;
    const Rope& rope = (*group)->rope;
    AlignedArray<SinCos>& angles = (*group)->angles;
    const uint32_t pairs = rope.pair_count();
    angles.EnsureCount(size_t{step.row_count()} * pairs);
    ForRows(pool_, step.row_count(), [&](uint32_t row) {
      rope.AnglesOf(step.rows[row].position, {angles.data() + size_t{row} * pairs, pairs});
    });
  }
}

void AttentionBlock::Run(const Step& step, const LayerConfig& layer, const LayerWeights& weights,
                         Activations& x, float* out) {
  const AttentionSpec& spec = config_.AttentionOf(layer);
  Project(spec, weights, x);
  NormTurnAndStore(step, layer, weights);
  Attend(step, layer, weights);
  for (const StepSegment& segment : step.segments) segment.chunk->EndLayer(layer.kv);
  mixed_input_.Set(mixed_.data(), step.row_count(), spec.q_heads * spec.v_dim);
  MatMul(weights.attention_out, mixed_input_, out, config_.hidden, pool_);
}

void AttentionBlock::Project(const AttentionSpec& spec, const LayerWeights& weights,
                             Activations& x) {
  const size_t rows = x.rows();
  queries_.EnsureCount(rows * spec.q_heads * spec.k_dim);
  keys_.EnsureCount(rows * spec.kv_heads * spec.k_dim);
  values_.EnsureCount(rows * spec.kv_heads * spec.v_dim);
  mixed_.EnsureCount(rows * spec.q_heads * spec.v_dim);
  MatMul(std::array{MatMulOutput{&weights.q, queries_.data(), weights.q.rows()},
                    MatMulOutput{&weights.k, keys_.data(), weights.k.rows()},
                    MatMulOutput{&weights.v, values_.data(), weights.v.rows()}},
         x, pool_);
}

void AttentionBlock::NormTurnAndStore(const Step& step, const LayerConfig& layer,
                                      const LayerWeights& weights) {
  const AttentionSpec& spec = config_.AttentionOf(layer);
  const GroupRope& group = RopeOf(layer.kv.group);
  const uint32_t pairs = group.rope.pair_count();
  ForRows(pool_, step.row_count(), [&](uint32_t row) {
    const std::span<const SinCos> angles(group.angles.data() + size_t{row} * pairs, pairs);
    const auto query = RowOf(queries_.data(), row, spec.q_heads * spec.k_dim);
    const auto key = RowOf(keys_.data(), row, spec.kv_heads * spec.k_dim);
    const auto value = RowOf(values_.data(), row, spec.kv_heads * spec.v_dim);
    NormHeads(weights.q_norm, config_.norm_epsilon, query);
    NormHeads(weights.k_norm, config_.norm_epsilon, key);
    group.rope.Turn(angles, spec.k_dim, query);
    group.rope.Turn(angles, spec.k_dim, key);
    if (config_.value_scale != 1.0F) Scale(config_.value_scale, value);
    step.rows[row].chunk->Write(layer.kv, step.rows[row].position, key, value);
  });
}

void AttentionBlock::Attend(const Step& step, const LayerConfig& layer,
                            const LayerWeights& weights) {
  const AttentionSpec& spec = config_.AttentionOf(layer);
  segments_.clear();
  for (const StepSegment& segment : step.segments) {
    const size_t first = segment.first_row;
    segments_.push_back({.tiles = segment.chunk->Tiles(layer.kv),
                         .first_position = segment.chunk->begin(),
                         .row_count = segment.row_count,
                         .queries = queries_.data() + first * spec.q_heads * spec.k_dim,
                         .out = mixed_.data() + first * spec.q_heads * spec.v_dim});
  }
  attention_.Run({.q_heads = spec.q_heads,
                  .kv_heads = spec.kv_heads,
                  .k_dim = spec.k_dim,
                  .v_dim = spec.v_dim,
                  .window = spec.window,
                  .scale = spec.score_scale,
                  .softcap = spec.softcap,
                  .sinks = weights.sinks},
                 segments_);
}

}  // namespace weir
