// The rows of token_embd, dequantised one at a time.
//
// Ownership: owns a copy of the tensor's bytes, in its own format. Threads: immutable.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned.h"
#include "base/ids.h"
#include "quant/matmul.h"

namespace weir {

class Embedding {
 public:
  Embedding() = default;
  explicit Embedding(const MatrixView& table);

  // out: [hidden]. Requires a token of the vocabulary.
  void Row(TokenId token, std::span<float> out) const;

  [[nodiscard]] uint64_t bytes() const { return data_.bytes(); }

 private:
  WeightType type_ = WeightType::kF32;
  uint32_t rows_ = 0;
  AlignedBytes data_;
};

}  // namespace weir
