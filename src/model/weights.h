// The weights of a model, packed for the kernels and checked against its description.
//
// Ownership: owns all bytes; the GGUF file is needed no more. Threads: immutable once loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/gguf.h"
#include "quant/matmul.h"

namespace weir {

// down(activation(gate(x)) * up(x))
struct GatedWeights {
  PackedMatrix gate;  // [ffn hidden, hidden]
  PackedMatrix up;    // [ffn hidden, hidden]
  PackedMatrix down;  // [hidden, ffn hidden]
};

// Norms are as in the file: multiplied as they are. Empty: the model has none.
struct LayerWeights {
  std::vector<float> attention_norm;
  std::vector<float> post_attention_norm;
  std::vector<float> q_norm;  // [k_dim], the same for every head
  std::vector<float> k_norm;
  std::vector<float> sinks;  // one logit a query head
  PackedMatrix q;
  PackedMatrix k;
  PackedMatrix v;
  PackedMatrix attention_out;

  std::vector<float> ffn_norm;
  std::vector<float> post_ffn_norm;
  GatedWeights dense;              // layers without experts
  PackedMatrix router;             // [experts, hidden]
  std::vector<float> router_bias;  // added for the choice of experts only
  std::vector<GatedWeights> experts;
};

struct ModelWeights {
  PackedMatrix embedding;  // [vocabulary, hidden]; empty when the head's rows are the embedding
  std::vector<LayerWeights> layers;
  std::vector<float> final_norm;
  PackedMatrix head;  // [vocabulary, hidden]

  [[nodiscard]] const PackedMatrix& embedding_table() const {
    return embedding.rows() == 0 ? head : embedding;
  }
  [[nodiscard]] uint64_t bytes() const;
};

// Fails, naming tensor and shape, when a tensor is missing, has another shape than `config` says,
// or is one that the forward pass would not use. `progress` gets fractions of the file's bytes.
[[nodiscard]] Result<ModelWeights> LoadWeights(const GgufFile& file, const ModelConfig& config,
                                               ThreadPool& pool,
                                               const std::function<void(double)>& progress);

}  // namespace weir
