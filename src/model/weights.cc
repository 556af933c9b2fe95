#include "model/weights.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "model/weight_reader.h"

namespace weir {
namespace {

class LayerLoader {
 public:
  LayerLoader(WeightReader& reader, const ModelConfig& config, uint32_t layer)
      : reader_(reader), config_(config), layer_(layer) {}

  Result<LayerWeights> Load() {
    LayerWeights weights;
    WEIR_TRY(LoadAttention(weights));
    WEIR_TRY(LoadFeedForward(weights));
    return weights;
  }

 private:
  [[nodiscard]] std::string Name(const char* tensor) const {
    return fmt::format("blk.{}.{}", layer_, tensor);
  }

  Result<void> LoadAttention(LayerWeights& weights) {
    const AttentionSpec& spec = config_.AttentionOf(config_.layers[layer_]);
    const uint32_t hidden = config_.hidden;
    weights.attention_norm = WEIR_TRY(reader_.Vector(Name("attn_norm.weight"), hidden));
    if (config_.has_post_norms) {
      weights.post_attention_norm =
          WEIR_TRY(reader_.Vector(Name("post_attention_norm.weight"), hidden));
    }
    if (config_.has_qk_norm) {
      weights.q_norm = WEIR_TRY(reader_.Vector(Name("attn_q_norm.weight"), spec.k_dim));
      weights.k_norm = WEIR_TRY(reader_.Vector(Name("attn_k_norm.weight"), spec.k_dim));
    }
    weights.sinks = WEIR_TRY(reader_.OptionalVector(Name("attn_sinks.weight"), spec.q_heads));
    weights.q = WEIR_TRY(reader_.Matrix(Name("attn_q.weight"), spec.q_heads * spec.k_dim, hidden));
    weights.k = WEIR_TRY(reader_.Matrix(Name("attn_k.weight"), spec.kv_heads * spec.k_dim, hidden));
    weights.v = WEIR_TRY(reader_.Matrix(Name("attn_v.weight"), spec.kv_heads * spec.v_dim, hidden));
    weights.attention_out =
        WEIR_TRY(reader_.Matrix(Name("attn_output.weight"), hidden, spec.q_heads * spec.v_dim));
    return {};
  }

  Result<void> LoadFeedForward(LayerWeights& weights) {
    weights.ffn_norm = WEIR_TRY(reader_.Vector(Name("ffn_norm.weight"), config_.hidden));
    if (config_.has_post_norms) {
      weights.post_ffn_norm =
          WEIR_TRY(reader_.Vector(Name("post_ffw_norm.weight"), config_.hidden));
    }
    if (config_.layers[layer_].has_experts) return LoadExperts(weights);
    const uint32_t hidden = config_.hidden;
    const uint32_t inner = config_.ffn_hidden;
    weights.dense.gate = WEIR_TRY(reader_.Matrix(Name("ffn_gate.weight"), inner, hidden));
    weights.dense.up = WEIR_TRY(reader_.Matrix(Name("ffn_up.weight"), inner, hidden));
    weights.dense.down = WEIR_TRY(reader_.Matrix(Name("ffn_down.weight"), hidden, inner));
    return {};
  }

  Result<void> LoadExperts(LayerWeights& weights) {
    const ExpertSpec& spec = *config_.experts;
    const uint32_t hidden = config_.hidden;
    weights.router = WEIR_TRY(reader_.Matrix(Name("ffn_gate_inp.weight"), spec.count, hidden));
    weights.router_bias = WEIR_TRY(reader_.OptionalVector(Name("exp_probs_b.bias"), spec.count));
    auto gate =
        WEIR_TRY(reader_.Matrices(Name("ffn_gate_exps.weight"), spec.count, spec.hidden, hidden));
    auto up =
        WEIR_TRY(reader_.Matrices(Name("ffn_up_exps.weight"), spec.count, spec.hidden, hidden));
    auto down =
        WEIR_TRY(reader_.Matrices(Name("ffn_down_exps.weight"), spec.count, hidden, spec.hidden));
    weights.experts.resize(spec.count);
    for (uint32_t i = 0; i < spec.count; ++i) {
      weights.experts[i] = {std::move(gate[i]), std::move(up[i]), std::move(down[i])};
    }
    return {};
  }

  WeightReader& reader_;
  const ModelConfig& config_;
  const uint32_t layer_;
};

uint64_t BytesOf(const GatedWeights& weights) {
  return weights.gate.bytes() + weights.up.bytes() + weights.down.bytes();
}

}  // namespace

uint64_t ModelWeights::bytes() const {
  uint64_t bytes = embedding.bytes() + head.bytes();
  for (const LayerWeights& layer : layers) {
    bytes += layer.q.bytes() + layer.k.bytes() + layer.v.bytes() + layer.attention_out.bytes();
    bytes += BytesOf(layer.dense) + layer.router.bytes();
    for (const GatedWeights& expert : layer.experts) bytes += BytesOf(expert);
  }
  return bytes;
}

Result<ModelWeights> LoadWeights(const GgufFile& file, const ModelConfig& config, ThreadPool& pool,
                                 const std::function<void(double)>& progress) {
  WeightReader reader(file, pool, progress);
  ModelWeights weights;
  PackedMatrix embedding =
      WEIR_TRY(reader.Matrix("token_embd.weight", config.vocab_size, config.hidden));
  if (reader.Has("output.weight")) {
    weights.embedding = std::move(embedding);
    weights.head = WEIR_TRY(reader.Matrix("output.weight", config.vocab_size, config.hidden));
  } else {
    weights.head = std::move(embedding);
  }
  weights.final_norm = WEIR_TRY(reader.Vector("output_norm.weight", config.hidden));
  for (uint32_t layer = 0; layer < config.layers.size(); ++layer) {
    weights.layers.push_back(WEIR_TRY(LayerLoader(reader, config, layer).Load()));
  }
  // The description has taken these in already (frequency divisors).
  WEIR_TRY(
      reader.OptionalVector("rope_freqs.weight", config.full ? config.full->rope.dims / 2 : 0));
  WEIR_TRY(reader.CheckAllTaken(static_cast<uint32_t>(config.layers.size())));
  return weights;
}

}  // namespace weir
