// y = x W^T for weights packed once at load, with the same bits for every batch and thread count.
//
// A packed matrix keeps 16 output rows in SIMD lanes and walks the input dimension in order, one
// accumulator an output: so an output element depends on its own input row and weight row only, in
// one fixed order, whether it is computed alone (decode) or in a block of rows (prefill).
// Block-quantised weights multiply int8-quantised activations: integer sums inside a block are
// exact (the same on every ISA); blocks are added in f32 in ascending order with written FMAs. F32,
// F16 and BF16 weights multiply f32 activations.
//
// Ownership: PackedMatrix owns its bytes and needs the GGUF mapping no more.
// Threads: MatMul() splits output rows over the pool; a PackedMatrix is immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "quant/weight_type.h"

namespace weir {

// One matrix as GGUF stores it: `rows` outputs of `cols` inputs, row-major.
struct MatrixView {
  WeightType type = WeightType::kF32;
  uint32_t rows = 0;
  uint32_t cols = 0;
  std::span<const std::byte> bytes;
};

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Requires cols % block_elements == 0 (the GGUF reader checks it).
  static PackedMatrix Pack(const MatrixView& matrix, ThreadPool& pool);

  [[nodiscard]] WeightType type() const { return type_; }
  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t cols() const { return cols_; }
  [[nodiscard]] uint64_t bytes() const { return data_.bytes(); }
  [[nodiscard]] const std::byte* data() const { return data_.data(); }

 private:
  WeightType type_ = WeightType::kF32;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  AlignedBytes data_;
};

// Rows of activations, as f32 and, made at most once, as int8 codes with one f32 scale a block
// of 32. Shared by the matrices that read the same input (q, k, v; gate, up).
class Activations {
 public:
  // Refers to `values` [rows, cols], row-major, which must stay until the last MatMul. Reuses its
  // own buffers: no allocation once the largest shape was seen. Requires cols % 4 == 0 or
  // F32/F16/BF16 weights only.
  void Set(const float* values, uint32_t rows, uint32_t cols);

  // Quantises if not yet done: code = round-half-even(x / scale), scale = max|x| / 127 of 32
  // values.
  void Quantize(ThreadPool& pool);

  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t cols() const { return cols_; }
  [[nodiscard]] const float* values() const { return values_; }
  [[nodiscard]] const int8_t* codes() const { return codes_.data(); }
  [[nodiscard]] const float* scales() const { return scales_.data(); }

 private:
  const float* values_ = nullptr;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  bool quantized_ = false;
  AlignedArray<int8_t> codes_;
  AlignedArray<float> scales_;
};

// y [x.rows(), y_stride], of which the first weights.rows() of each row are overwritten.
// Requires x.cols() == weights.cols().
void MatMul(const PackedMatrix& weights, Activations& x, float* y, uint32_t y_stride,
            ThreadPool& pool);

}  // namespace weir
