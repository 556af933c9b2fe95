// The architecture of a model as a description that one forward pass reads.
//
// Pure values. ReadModelConfig() is the only place that knows GGUF keys and architecture defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/sequence_view.h"
#include "model/config_keys.h"
#include "model/gguf.h"

namespace weir {

enum class RopePairing : uint8_t { kInterleaved, kHalves };  // (2i, 2i+1) or (i, i + dims/2)
enum class Activation : uint8_t { kSilu, kGeluTanh };
enum class RouterGate : uint8_t { kSoftmax, kSigmoid };

struct RopeSpec {
  uint32_t dims = 0;  // rotated leading dimensions of a head; the rest pass through
  float base = 10000.0F;
  float position_scale = 1.0F;  // positions are multiplied by this (linear scaling: 1/factor)
  RopePairing pairing = RopePairing::kHalves;
  std::vector<float> frequency_divisors;  // empty, or dims/2 (tensor rope_freqs.weight)
};

// Attention of one KV group.
struct AttentionSpec {
  uint32_t q_heads = 0;
  uint32_t kv_heads = 0;
  uint32_t k_dim = 0;
  uint32_t v_dim = 0;
  uint32_t window = 0;  // W in tokens, own position included; 0: full
  float score_scale = 1.0F;
  float softcap = 0.0F;
  RopeSpec rope;
};

struct ExpertSpec {
  uint32_t count = 0;
  uint32_t used = 0;
  uint32_t hidden = 0;
  RouterGate gate = RouterGate::kSoftmax;
  bool normalize_weights = false;
  float weight_scale = 1.0F;
};

struct LayerConfig {
  KvLayer kv;  // group and index in it
  bool has_experts = false;
};

struct ModelConfig {
  std::string architecture;  // "gemma3"
  std::string name;
  uint32_t vocab_size = 0;
  uint32_t hidden = 0;
  uint32_t ffn_hidden = 0;
  uint32_t context_length = 0;
  float norm_epsilon = 1e-6F;
  float embedding_scale = 1.0F;
  float value_scale = 1.0F;  // V rows are multiplied by this
  float logit_softcap = 0.0F;
  Activation activation = Activation::kSilu;
  bool has_post_norms = false;  // norms after attention and FFN, before the residual sum
  bool has_qk_norm = false;
  std::optional<AttentionSpec> full;
  std::optional<AttentionSpec> window;
  std::optional<ExpertSpec> experts;
  std::vector<LayerConfig> layers;

  [[nodiscard]] const AttentionSpec& AttentionOf(const LayerConfig& layer) const;
  [[nodiscard]] KvLayout Layout(KvFormat format) const;
};

// Fails with kUnsupported for unknown architectures, naming those that are known.
// Errors of ReadKvShape() too.
[[nodiscard]] Result<ModelConfig> ReadModelConfig(const GgufFile& file,
                                                  const ConfigOverrides& overrides = {});

}  // namespace weir
