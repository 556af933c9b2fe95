#include "model/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/config_keys.h"
#include "model/gguf_values.h"
#include "model/kv_shape.h"

namespace weir {
namespace {

constexpr double kMaxScale = 1e6;
constexpr double kMaxRopeBase = 1e12;
constexpr double kMinRopeFactor = 1e-3;  // keeps the angle of any position a number

// What an architecture does that its files do not say, or leave out.
struct Architecture {
  std::string_view name;
  RopePairing pairing;
  Activation activation;
  double rope_base;         // when the file names none
  double window_rope_base;  // the same for window layers
  bool scales_embedding;    // by sqrt(hidden)
  bool has_post_norms;
  bool has_qk_norm;
  bool may_have_window;
  bool may_have_experts;
  bool window_rope_is_scaled;  // whether rope scaling applies to window layers too
};

constexpr std::array<Architecture, 3> kArchitectures = {{
    {.name = "gemma3",
     .pairing = RopePairing::kHalves,
     .activation = Activation::kGeluTanh,
     .rope_base = 1e6,
     .window_rope_base = 1e4,
     .scales_embedding = true,
     .has_post_norms = true,
     .has_qk_norm = true,
     .may_have_window = true,
     .may_have_experts = false,
     .window_rope_is_scaled = false},
    {.name = "llama",
     .pairing = RopePairing::kInterleaved,
     .activation = Activation::kSilu,
     .rope_base = 1e4,
     .window_rope_base = 1e4,
     .scales_embedding = false,
     .has_post_norms = false,
     .has_qk_norm = false,
     .may_have_window = false,
     .may_have_experts = false,
     .window_rope_is_scaled = true},
    {.name = "mimo2",
     .pairing = RopePairing::kHalves,
     .activation = Activation::kSilu,
     .rope_base = 5e6,
     .window_rope_base = 1e4,
     .scales_embedding = false,
     .has_post_norms = false,
     .has_qk_norm = false,
     .may_have_window = true,
     .may_have_experts = true,
     .window_rope_is_scaled = true},
}};

Result<const Architecture*> FindArchitecture(const ConfigKeys& keys) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == keys.architecture()) return &architecture;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
  }
  return keys.Unsupported(
      fmt::format("unknown architecture {}; Weir runs {}", Quoted(keys.architecture()), known));
}

// Factor that positions are multiplied by. Anything but linear scaling changes frequencies one by
// one, or the scores: refused rather than ignored.
Result<float> ReadPositionScale(const ConfigKeys& keys) {
  const auto type = WEIR_TRY(keys.file().String(keys.FullKey("rope.scaling.type")));
  if (type && *type != "linear" && *type != "none") {
    return keys.Unsupported(fmt::format("RoPE scaling of type {} (key {}) is not built yet",
                                        Quoted(*type), Quoted(keys.FullKey("rope.scaling.type"))));
  }
  const auto attention_factor = WEIR_TRY(keys.Float("rope.scaling.attn_factor", 0, kMaxScale));
  if (attention_factor.value_or(1) != 1) {
    return keys.Unsupported(fmt::format("a RoPE attention factor of {} (key {}) is not built yet",
                                        *attention_factor,
                                        Quoted(keys.FullKey("rope.scaling.attn_factor"))));
  }
  auto factor = WEIR_TRY(keys.Float("rope.scaling.factor", 0, kMaxScale));
  if (!factor) factor = WEIR_TRY(keys.Float("rope.scale_linear", 0, kMaxScale));
  if (type == "none" || factor.value_or(0) == 0) return 1.0F;  // 0 is how files write "none"
  if (*factor < kMinRopeFactor) {
    return keys.Corrupt(
        fmt::format("a RoPE scaling factor of {} is below {}", *factor, kMinRopeFactor));
  }
  return 1.0F / *factor;
}

Result<RopeSpec> ReadRope(const ConfigKeys& keys, const Architecture& architecture,
                          const GroupShape& shape) {
  const bool of_window = shape.window != 0;
  RopeSpec rope;
  rope.pairing = architecture.pairing;
  rope.dims = WEIR_TRY(keys.Count("rope.dimension_count", kMaxHeadDim)).value_or(shape.k_dim);
  if (of_window) {
    rope.dims = WEIR_TRY(keys.Count("rope.dimension_count_swa", kMaxHeadDim)).value_or(rope.dims);
  }
  if (rope.dims % 2 != 0 || rope.dims > shape.k_dim) {
    return keys.Corrupt(
        fmt::format("RoPE over {} dimensions does not fit heads of {}", rope.dims, shape.k_dim));
  }
  const double otherwise = of_window ? architecture.window_rope_base : architecture.rope_base;
  const auto base =
      WEIR_TRY(keys.Float(of_window ? "rope.freq_base_swa" : "rope.freq_base", 1, kMaxRopeBase));
  rope.base = base.value_or(static_cast<float>(otherwise));
  const float scale = WEIR_TRY(ReadPositionScale(keys));
  if (!of_window || architecture.window_rope_is_scaled) rope.position_scale = scale;
  return rope;
}

// Divisors of the rotation frequencies (Llama 3's long contexts), one for each pair.
Result<std::vector<float>> ReadFrequencyDivisors(const ConfigKeys& keys, uint32_t rope_dims) {
  const GgufTensor* tensor = keys.file().FindTensor("rope_freqs.weight");
  if (tensor == nullptr) return std::vector<float>();
  if (tensor->type != WeightType::kF32 || tensor->shape != std::vector<uint64_t>{rope_dims / 2}) {
    return keys.Corrupt(fmt::format("tensor 'rope_freqs.weight' is {} [{}], not F32 [{}]",
                                    InfoOf(tensor->type).name, fmt::join(tensor->shape, ", "),
                                    rope_dims / 2));
  }
  std::vector<float> divisors(rope_dims / 2);
  std::memcpy(divisors.data(), tensor->bytes.data(), tensor->bytes.size());
  for (const float divisor : divisors) {
    if (!(divisor >= kMinRopeFactor && divisor <= kMaxScale)) {  // also NaN
      return keys.Corrupt(fmt::format("tensor 'rope_freqs.weight' holds {}, not {} to {}", divisor,
                                      kMinRopeFactor, kMaxScale));
    }
  }
  return divisors;
}

Result<AttentionSpec> ReadAttention(const ConfigKeys& keys, const Architecture& architecture,
                                    const GroupShape& shape, const ModelConfig& config) {
  AttentionSpec attention;
  attention.q_heads = shape.q_heads;
  attention.kv_heads = shape.kv_heads;
  attention.k_dim = shape.k_dim;
  attention.v_dim = shape.v_dim;
  attention.window = shape.window;
  // Gemma 3 27B, told by its 62 layers, scales by its hidden size a head (its configuration's
  // query_pre_attn_scalar, which GGUF does not carry).
  const bool is_gemma_27b = architecture.name == "gemma3" && config.layers.size() == 62;
  const uint32_t scaled_dim =
      is_gemma_27b ? std::max(1U, config.hidden / shape.q_heads) : shape.k_dim;
  attention.score_scale = 1.0F / std::sqrt(static_cast<float>(scaled_dim));
  attention.softcap = WEIR_TRY(keys.Float("attn_logit_softcapping", 0, kMaxScale)).value_or(0.0F);
  attention.rope = WEIR_TRY(ReadRope(keys, architecture, shape));
  attention.rope.frequency_divisors = WEIR_TRY(ReadFrequencyDivisors(keys, attention.rope.dims));
  return attention;
}

Result<std::optional<ExpertSpec>> ReadExperts(const ConfigKeys& keys,
                                              const Architecture& architecture) {
  const auto count = WEIR_TRY(keys.file().Unsigned(keys.FullKey("expert_count"))).value_or(0);
  if (count == 0) return std::nullopt;
  if (!architecture.may_have_experts) {
    return keys.Unsupported(
        fmt::format("experts in architecture {} are not built yet", Quoted(keys.architecture())));
  }
  const auto shared = WEIR_TRY(keys.file().Unsigned(keys.FullKey("expert_shared_count")));
  const auto groups = WEIR_TRY(keys.file().Unsigned(keys.FullKey("expert_group_count")));
  if (shared.value_or(0) != 0 || groups.value_or(0) > 1) {
    return keys.Unsupported(
        fmt::format("shared experts ({}) and expert groups ({}) are not built yet",
                    shared.value_or(0), groups.value_or(0)));
  }
  ExpertSpec experts;
  experts.gate = RouterGate::kSigmoid;
  experts.count = WEIR_TRY(keys.NeedCount("expert_count", kMaxExperts));
  experts.used = WEIR_TRY(keys.NeedCount("expert_used_count", experts.count));
  experts.hidden = WEIR_TRY(keys.NeedCount("expert_feed_forward_length", kMaxHidden));
  // 1: softmax, 2: sigmoid.
  const auto gate = WEIR_TRY(keys.Count("expert_gating_func", 16)).value_or(2);
  if (gate != 1 && gate != 2) {
    return keys.Unsupported(fmt::format("expert gating function {} is not built yet", gate));
  }
  if (gate == 1) experts.gate = RouterGate::kSoftmax;
  // Files without these keys mean what the architecture's reference implementation does.
  experts.normalize_weights =
      WEIR_TRY(keys.file().Bool(keys.FullKey("expert_weights_norm"))).value_or(true);
  const auto scale = WEIR_TRY(keys.Float("expert_weights_scale", 0, kMaxScale)).value_or(0.0F);
  experts.weight_scale = scale == 0 ? 1.0F : scale;  // 0 is how files write "none"
  return experts;
}

// The embedding's rows, else the metadata; all that are there must agree.
Result<uint32_t> ReadVocabSize(const ConfigKeys& keys) {
  const GgufTensor* embedding = keys.file().FindTensor("token_embd.weight");
  if (embedding == nullptr || embedding->shape.size() != 2 || embedding->shape[1] > kMaxTokens) {
    return keys.Corrupt("there is no tensor 'token_embd.weight' of two dimensions");
  }
  const auto rows = static_cast<uint32_t>(embedding->shape[1]);
  const auto tokens = keys.file().ArrayCount("tokenizer.ggml.tokens");
  if (tokens && *tokens != rows) {
    return keys.Corrupt(
        fmt::format("the tokenizer has {} tokens and 'token_embd.weight' {} rows", *tokens, rows));
  }
  return rows;
}

Result<std::string> ReadName(const ConfigKeys& keys) {
  if (const auto name = WEIR_TRY(keys.file().String("general.name"))) return std::string(*name);
  const std::string& path = keys.file().path();
  return path.substr(path.find_last_of('/') + 1);
}

}  // namespace

const AttentionSpec& ModelConfig::AttentionOf(const LayerConfig& layer) const {
  const auto& attention = layer.kv.group == KvGroupKind::kFull ? full : window;
  WEIR_CHECK(attention.has_value());
  return *attention;
}

KvLayout ModelConfig::Layout(KvFormat format) const {
  KvLayout layout;
  const auto group_of = [&](const AttentionSpec& spec, KvGroupKind kind) {
    const auto count = std::count_if(layers.begin(), layers.end(), [&](const LayerConfig& layer) {
      return layer.kv.group == kind;
    });
    return KvGroup{.layer_count = static_cast<uint32_t>(count),
                   .kv_heads = spec.kv_heads,
                   .k_dim = spec.k_dim,
                   .v_dim = spec.v_dim,
                   .window = spec.window,
                   .format = format};
  };
  if (full) layout.full = group_of(*full, KvGroupKind::kFull);
  if (window) layout.window = group_of(*window, KvGroupKind::kWindow);
  return layout;
}

Result<ModelConfig> ReadModelConfig(const GgufFile& file, const ConfigOverrides& overrides) {
  const auto keys = WEIR_TRY(ConfigKeys::Create(file, overrides));
  const Architecture& architecture = *WEIR_TRY(FindArchitecture(keys));
  ModelConfig config;
  config.architecture = keys.architecture();
  config.name = WEIR_TRY(ReadName(keys));
  config.hidden = WEIR_TRY(keys.NeedCount("embedding_length", kMaxHidden));
  config.ffn_hidden = WEIR_TRY(keys.NeedCount("feed_forward_length", kMaxHidden));
  config.context_length = WEIR_TRY(keys.NeedCount("context_length", kMaxTokens));
  config.vocab_size = WEIR_TRY(ReadVocabSize(keys));
  const auto epsilon = WEIR_TRY(keys.Float("attention.layer_norm_rms_epsilon", 1e-12, 1));
  config.norm_epsilon = epsilon.value_or(config.norm_epsilon);
  config.value_scale =
      WEIR_TRY(keys.Float("attention.value_scale", 1e-6, kMaxScale)).value_or(1.0F);
  config.logit_softcap =
      WEIR_TRY(keys.Float("final_logit_softcapping", 0, kMaxScale)).value_or(0.0F);
  config.activation = architecture.activation;
  config.has_post_norms = architecture.has_post_norms;
  config.has_qk_norm = architecture.has_qk_norm;
  if (architecture.scales_embedding) {
    config.embedding_scale = std::sqrt(static_cast<float>(config.hidden));
  }

  const KvShape shape = WEIR_TRY(ReadKvShape(keys));
  if (shape.window.layer_count != 0 && !architecture.may_have_window) {
    return keys.Unsupported(
        fmt::format("a window in architecture {} is not built yet", Quoted(config.architecture)));
  }
  config.experts = WEIR_TRY(ReadExperts(keys, architecture));
  for (uint32_t layer = 0; layer < shape.layers.size(); ++layer) {
    const bool has_router =
        file.FindTensor(fmt::format("blk.{}.ffn_gate_inp.weight", layer)) != nullptr;
    config.layers.push_back(
        {.kv = shape.layers[layer], .has_experts = config.experts && has_router});
  }
  if (shape.full.layer_count != 0) {
    config.full = WEIR_TRY(ReadAttention(keys, architecture, shape.full, config));
  }
  if (shape.window.layer_count != 0) {
    config.window = WEIR_TRY(ReadAttention(keys, architecture, shape.window, config));
  }
  return config;
}

}  // namespace weir
