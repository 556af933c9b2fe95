#include "model/fingerprint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {
namespace {

constexpr size_t kSampleBytes = 64;
constexpr size_t kSamplesPerTensor = 4;

class Hash {
 public:
  Hash() { XXH3_128bits_reset(&state_); }

  // The length too, so that pieces cannot pass for others that meet elsewhere.
  void Add(std::span<const std::byte> bytes) {
    const uint64_t length = bytes.size();
    XXH3_128bits_update(&state_, &length, sizeof(length));
    XXH3_128bits_update(&state_, bytes.data(), bytes.size());
  }
  void Add(std::string_view text) { Add(std::as_bytes(std::span(text))); }

  [[nodiscard]] std::string Hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  XXH3_state_t state_;
};

void AddTensor(Hash& hash, std::span<const std::byte> bytes) {
  if (bytes.size() <= kSampleBytes * kSamplesPerTensor) return hash.Add(bytes);
  const size_t last = bytes.size() - kSampleBytes;
  for (size_t i = 0; i < kSamplesPerTensor; ++i) {
    // Divided first: `last` times i could overflow.
    const size_t at = i + 1 == kSamplesPerTensor ? last : last / (kSamplesPerTensor - 1) * i;
    hash.Add(bytes.subspan(at, kSampleBytes));
  }
}

std::string Describe(const RopeSpec& rope) {
  return fmt::format("rope {} {} {} {} [{}]", rope.dims, rope.base, rope.position_scale,
                     static_cast<int>(rope.pairing), fmt::join(rope.frequency_divisors, " "));
}

std::string Describe(std::string_view group, const std::optional<AttentionSpec>& spec) {
  if (!spec) return fmt::format("{} none", group);
  return fmt::format("{} heads {} {} dims {} {} window {} scale {} softcap {} {}", group,
                     spec->q_heads, spec->kv_heads, spec->k_dim, spec->v_dim, spec->window,
                     spec->score_scale, spec->softcap, Describe(spec->rope));
}

std::string Describe(const ExpertSpec& experts) {
  return fmt::format("experts {} {} {} {} {} {}", experts.count, experts.used, experts.hidden,
                     static_cast<int>(experts.gate), experts.normalize_weights,
                     experts.weight_scale);
}

std::string Describe(const ModelConfig& config) {
  std::string layers;
  for (const LayerConfig& layer : config.layers) {
    layers += layer.kv.group == KvGroupKind::kFull ? 'F' : 'w';
    if (layer.has_experts) layers += 'e';
  }
  return fmt::format("{} vocab {} hidden {} ffn {} eps {} scales {} {} softcap {} act {} {} {} {}",
                     config.architecture, config.vocab_size, config.hidden, config.ffn_hidden,
                     config.norm_epsilon, config.embedding_scale, config.value_scale,
                     config.logit_softcap, static_cast<int>(config.activation),
                     config.has_post_norms, config.has_qk_norm, layers);
}

std::string Describe(const std::optional<KvGroup>& group) {
  if (!group) return "none";
  const TileCodec* codec = group->codec;
  return fmt::format("{} window {} codec {} residual {}", NameOf(group->format), group->window,
                     codec != nullptr ? codec->name : "none",
                     codec != nullptr ? codec->residual_tiles : 0);
}

}  // namespace

std::string Fingerprint(const GgufFile& file, const ModelConfig& config, const KvLayout& layout,
                        Isa isa) {
  Hash hash;
  hash.Add(file.header());
  for (const GgufTensor& tensor : file.tensors()) AddTensor(hash, tensor.bytes);
  hash.Add(Describe(config));
  hash.Add(Describe("full", config.full));
  hash.Add(Describe("window", config.window));
  hash.Add(config.experts ? Describe(*config.experts) : "no experts");
  hash.Add(Describe(layout.full));
  hash.Add(Describe(layout.window));
  hash.Add(fmt::format("{} {}", NameOf(isa), kNumericsRevision));
  return hash.Hex();
}

}  // namespace weir
