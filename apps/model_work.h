// What a model must read and multiply for its tokens, by arithmetic from the shapes of its file:
// the lower bound that measured speeds are held against.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "kv/layout.h"
#include "model/config.h"
#include "model/gguf.h"

namespace weir {

struct ModelWork {
  uint64_t dense_bytes = 0;   // weights that every step reads: all but experts and a lone embedding
  uint64_t expert_bytes = 0;  // all experts
  double expert_share = 0;    // of them that one row uses
  // Quantised matrices alone; a multiplication and an addition are two operations.
  uint64_t layer_int8_ops = 0;  // a row through all layers
  uint64_t head_int8_ops = 0;   // a row of logits
  KvLayout layout = {};
  uint32_t full_q_heads = 0;
  uint32_t window_q_heads = 0;

  // Weights that a step of `rows` rows reads, as if its rows chose different experts.
  [[nodiscard]] double WeightBytes(uint32_t rows) const;
  // K and V of the keys that the query at `position` sees.
  [[nodiscard]] double KvBytes(uint64_t position) const;
  // Multiplications and additions of that query with them, q . k and p v.
  [[nodiscard]] double AttentionOps(uint64_t position) const;
};

[[nodiscard]] ModelWork WorkOf(const GgufFile& file, const ModelConfig& config);

}  // namespace weir
