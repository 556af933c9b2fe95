// Small random models whose logits show every row that their attention reads.
//
// With plain random weights attention spreads over a whole window, and one wrong row of 500 drowns
// in rounding. Here half of the query heads look back at a fixed distance: the embedding's first
// element is the same for all tokens and no layer adds to it; through it, queries and keys have a
// constant part, and its rotary phases meet at one distance only. In window layers that is W - 1,
// the farthest row of all. The other heads go by content.
//
// Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/gguf_builder.h"

namespace weir::test {

struct RandomModelSpec {
  std::string architecture = "gemma3";  // or llama (full layers only), mimo2
  std::string layers = "wwf";           // from the bottom: w window, f full
  uint32_t window = 128;                // W, the query's own position included; 4 at least
  uint32_t q_heads = 4;
  uint32_t kv_heads = 2;
  uint32_t k_dim = 8;  // even
  uint32_t v_dim = 8;
  uint64_t seed = 1;
};

inline constexpr uint32_t kRandomModelVocab = 60;

class RandomModelWriter {
 public:
  explicit RandomModelWriter(const RandomModelSpec& spec) : spec_(spec), random_(spec.seed) {}

  // A whole GGUF file.
  std::vector<std::byte> Bytes() {
    WriteKeys();
    Add("token_embd.weight", kHidden, kRandomModelVocab,
        [this](uint32_t, uint32_t column) { return column == 0 ? kConstant : Normal(); });
    Add("output_norm.weight", kHidden, 1, Norm(0.0F, 1.0F));
    for (uint32_t layer = 0; layer < spec_.layers.size(); ++layer) AddLayer(layer);
    for (const Tensor& tensor : tensors_) builder_.F32Tensor(tensor.name, tensor.shape);
    std::string& data = builder_.data();
    size_t at = 0;
    for (const Tensor& tensor : tensors_) {
      std::memcpy(data.data() + at, tensor.values.data(), tensor.values.size() * sizeof(float));
      at += (tensor.values.size() * sizeof(float) + 31) / 32 * 32;
    }
    return builder_.Bytes();
  }

 private:
  static constexpr uint32_t kHidden = 32;
  static constexpr uint32_t kInner = 40;
  static constexpr float kConstant = 4.0F;  // the embedding's first element
  static constexpr double kRopeBase = 200;

  struct Tensor {
    std::string name;
    std::vector<uint64_t> shape;
    std::vector<float> values;
  };
  using Element = std::function<float(uint32_t row, uint32_t column)>;

  [[nodiscard]] bool is_gemma() const { return spec_.architecture == "gemma3"; }
  [[nodiscard]] bool IsWindow(uint32_t layer) const { return spec_.layers[layer] == 'w'; }
  float Normal() { return normal_(random_); }
  Element Norm(float first, float others) {
    return [this, first, others](uint32_t, uint32_t column) {
      return column == 0 ? first : others * (1 + 0.1F * Normal());
    };
  }
  // Element of a matrix with `columns` inputs that leaves the size of what it reads about the same;
  // nothing is written to the constant element.
  Element ToStream(uint32_t columns) {
    return [this, columns](uint32_t row, uint32_t) {
      return row == 0 ? 0.0F : Normal() / std::sqrt(static_cast<float>(columns));
    };
  }

  void Add(const std::string& name, uint32_t columns, uint32_t rows, const Element& element) {
    std::vector<uint64_t> shape = {columns};
    if (rows > 1) shape.push_back(rows);
    std::vector<float> values;
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t column = 0; column < columns; ++column) values.push_back(element(row, column));
    }
    tensors_.push_back({name, std::move(shape), std::move(values)});
  }

  void WriteKeys() {
    const std::string& name = spec_.architecture;
    const auto layer_count = static_cast<uint32_t>(spec_.layers.size());
    builder_.String("general.architecture", name)
        .U32(name + ".block_count", layer_count)
        .U32(name + ".context_length", 1 << 20)
        .U32(name + ".embedding_length", kHidden)
        .U32(name + ".feed_forward_length", kInner)
        .U32(name + ".attention.head_count", spec_.q_heads)
        .U32(name + ".attention.head_count_kv", spec_.kv_heads)
        .U32(name + ".attention.key_length", spec_.k_dim)
        .U32(name + ".attention.value_length", spec_.v_dim)
        .U32(name + ".rope.dimension_count", spec_.k_dim)
        .F32(name + ".rope.freq_base", kRopeBase)
        .F32(name + ".attention.layer_norm_rms_epsilon", 1e-5F);
    if (name == "llama") return;
    std::vector<uint8_t> pattern;
    for (uint32_t layer = 0; layer < layer_count; ++layer) pattern.push_back(IsWindow(layer));
    const uint32_t extra_keys = name == "mimo2" ? 1 : 0;  // its key does not count the own row
    builder_.U32(name + ".attention.sliding_window", spec_.window - extra_keys)
        .Array(name + ".attention.sliding_window_pattern", GgufBuilder::kBool, pattern)
        .F32(name + ".rope.freq_base_swa", kRopeBase);
  }

  // How far back a query head looks; 0: it goes by content.
  uint32_t DistanceOf(uint32_t layer, uint32_t head) {
    if (head % 2 == 1) return 0;
    if (IsWindow(layer)) return spec_.window - 1;
    return 1 + static_cast<uint32_t>(random_() % 300);
  }

  // Queries (distances: one a head) or keys (empty: phase 0).
  void AddProjection(const std::string& name, uint32_t heads,
                     const std::vector<uint32_t>& distances, float spread) {
    const uint32_t pairs = spec_.k_dim / 2;
    const bool interleaved = spec_.architecture == "llama";
    Add(name, kHidden, heads * spec_.k_dim, [&](uint32_t row, uint32_t column) {
      if (column != 0) return spread * Normal() / std::sqrt(static_cast<float>(kHidden));
      const uint32_t at = row % spec_.k_dim;
      const uint32_t pair = interleaved ? at / 2 : at % pairs;
      const bool is_second = interleaved ? at % 2 == 1 : at >= pairs;
      const uint32_t distance = distances.empty() ? 0 : distances[row / spec_.k_dim];
      if (!distances.empty() && distance == 0) return 0.0F;
      // A query turned by -distance meets a key so many positions back at angle 0.
      const double angle =
          -static_cast<double>(distance) * std::pow(kRopeBase, -2.0 * pair / spec_.k_dim);
      return 0.9F * static_cast<float>(is_second ? std::sin(angle) : std::cos(angle));
    });
  }

  void AddLayer(uint32_t layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    std::vector<uint32_t> distances;
    for (uint32_t head = 0; head < spec_.q_heads; ++head) {
      distances.push_back(DistanceOf(layer, head));
    }
    Add(block + "attn_norm.weight", kHidden, 1, Norm(1.0F, 1.0F));
    Add(block + "ffn_norm.weight", kHidden, 1, Norm(0.3F, 1.0F));
    if (is_gemma()) {
      Add(block + "post_attention_norm.weight", kHidden, 1, Norm(0.0F, 0.8F));
      Add(block + "post_ffw_norm.weight", kHidden, 1, Norm(0.0F, 0.5F));
      Add(block + "attn_q_norm.weight", spec_.k_dim, 1, Norm(1.75F, 1.75F));
      Add(block + "attn_k_norm.weight", spec_.k_dim, 1, Norm(1.75F, 1.75F));
    }
    if (spec_.architecture == "mimo2" && IsWindow(layer)) {
      Add(block + "attn_sinks.weight", spec_.q_heads, 1,
          [this](uint32_t, uint32_t) { return Normal(); });
    }
    AddProjection(block + "attn_q.weight", spec_.q_heads, distances, 1.0F);
    AddProjection(block + "attn_k.weight", spec_.kv_heads, {}, 0.7F);
    Add(block + "attn_v.weight", kHidden, spec_.kv_heads * spec_.v_dim,
        [this](uint32_t, uint32_t column) {
          return column == 0 ? 0.0F : Normal() / std::sqrt(static_cast<float>(kHidden));
        });
    Add(block + "attn_output.weight", spec_.q_heads * spec_.v_dim, kHidden,
        ToStream(spec_.q_heads * spec_.v_dim));
    Add(block + "ffn_gate.weight", kHidden, kInner, ToStream(kHidden));
    Add(block + "ffn_up.weight", kHidden, kInner, ToStream(kHidden));
    Add(block + "ffn_down.weight", kInner, kHidden, ToStream(kInner));
  }

  RandomModelSpec spec_;
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  GgufBuilder builder_;
  std::vector<Tensor> tensors_;
};

inline std::vector<std::byte> RandomModelBytes(const RandomModelSpec& spec) {
  return RandomModelWriter(spec).Bytes();
}

}  // namespace weir::test
