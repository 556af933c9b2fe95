// y = x W^T for weights packed once at load, with the same bits for every batch and thread count.
//
// A packed matrix keeps 16 output rows in SIMD lanes and walks the input dimension in order, one
// accumulator an output: so an output element depends on its own input row and weight row only, in
// one fixed order, whether it is computed alone (decode) or in a block of rows (prefill).
// Block-quantised weights multiply int8-quantised activations: integer sums inside a block are
// exact (the same on every ISA); blocks are added in f32 in ascending order with written FMAs. F32,
// F16 and BF16 weights multiply f32 activations.
//
// Ownership: PackedMatrix keeps its bytes, cut from an arena, and needs the GGUF mapping no more.
// Threads: MatMul() splits output rows over the pool; a PackedMatrix is immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

#include "base/aligned.h"
#include "base/arena.h"
#include "base/thread_pool.h"
#include "quant/block_format.h"
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
  // Requires cols % block_elements == 0 (the GGUF reader checks it). `on_slab`, if any, is called
  // from time to time with the bytes of `matrix` read so far; they are not read again.
  using OnSlab = std::function<void(uint64_t bytes_done)>;
  static PackedMatrix Pack(const MatrixView& matrix, ThreadPool& pool, Arena& arena,
                           const OnSlab& on_slab = nullptr);

  // The row's weights, as DequantizeRow() gave them before packing, bit for bit.
  void UnpackRow(uint32_t row, std::span<float> out) const;

  [[nodiscard]] WeightType type() const { return type_; }
  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t cols() const { return cols_; }
  [[nodiscard]] uint64_t bytes() const { return data_.bytes(); }
  [[nodiscard]] const std::byte* data() const { return data_.data(); }

 private:
  WeightType type_ = WeightType::kF32;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  ArenaBlock data_;
};

// 32 consecutive activations of each of some rows, as int8 codes: where its parts lie.
//
//   scale = max|x| / 127        code = round-half-even(x * (127 / max|x|)), so |code| <= 127
//
// max|x| < 2^-110 counts as all zero. If any value is not finite, scale is NaN: so are the results.
// Byte is std::byte or const std::byte.
template <class Byte>
struct ActivationBlock {
  template <class T>
  using Pointer = std::conditional_t<std::is_const_v<Byte>, const T*, T*>;
  static constexpr size_t kRowBytes = 48;

  // The first of consecutive blocks of `rows` rows each, or block `index`.
  ActivationBlock(Byte* blocks, size_t rows)
      : codes(reinterpret_cast<Pointer<int8_t>>(blocks)),
        scale(reinterpret_cast<Pointer<float>>(blocks + rows * 32)),
        scaled_sum(scale + rows),
        minus_low_sum(reinterpret_cast<Pointer<int32_t>>(blocks + rows * 40)),
        minus_sum(minus_low_sum + rows),
        block_bytes(rows * kRowBytes) {}
  ActivationBlock(Byte* blocks, size_t index, size_t rows)
      : ActivationBlock(blocks + index * rows * kRowBytes, rows) {}

  // To the next block.
  void Advance() {
    codes += block_bytes;
    scale += block_bytes / 4;
    scaled_sum += block_bytes / 4;
    minus_low_sum += block_bytes / 4;
    minus_sum += block_bytes / 4;
  }

  Pointer<int8_t> codes;           // [rows][32]
  Pointer<float> scale;            // [rows], as all that follow
  Pointer<float> scaled_sum;       // scale * sum of codes
  Pointer<int32_t> minus_low_sum;  // -(sum of codes 0..15)
  Pointer<int32_t> minus_sum;      // -(sum of all codes)
  size_t block_bytes;
};

// y [x.rows(), y_stride], of which the first weights->rows() of each row are overwritten.
struct MatMulOutput {
  const PackedMatrix* weights = nullptr;
  float* y = nullptr;
  uint32_t y_stride = 0;
};

// Rows of activations, as f32 and, made at most once, as int8 blocks. Shared by the matrices that
// read the same input (q, k, v; gate, up).
class Activations {
 public:
  // Rows that lie interleaved and are multiplied together; the last row block may have fewer.
  static constexpr uint32_t kRowBlock = 16;

  // Refers to `values` [rows, cols], row-major, which must stay until the last MatMul. Reuses its
  // own buffers: no allocation once the largest shape was seen.
  void Set(const float* values, uint32_t rows, uint32_t cols);

  // As Set(), after fill(row) has written each row of `values`; rows are quantised, if their
  // product wants that, while they are still in the cache. fill runs on any thread.
  enum class Codes : uint8_t { kNone, kWanted };
  template <class Fill>
  void SetFilled(float* values, uint32_t rows, uint32_t cols, Codes codes, ThreadPool& pool,
                 const Fill& fill) {
    Set(values, rows, cols);
    if (codes == Codes::kWanted) EnsureBlocks();
    pool.ParallelFor(row_block_count(), [&](uint32_t row_block, uint32_t) {
      const uint32_t first = row_block * kRowBlock;
      for (uint32_t row = first; row < first + RowsOf(row_block); ++row) fill(row);
      if (codes == Codes::kWanted) QuantizeRowBlock(row_block);
    });
    quantized_ = codes == Codes::kWanted;
  }

  // Quantises if not yet done. Requires cols % 32 == 0.
  void Quantize(ThreadPool& pool);

  [[nodiscard]] uint32_t rows() const { return rows_; }
  [[nodiscard]] uint32_t cols() const { return cols_; }
  [[nodiscard]] const float* values() const { return values_; }

  [[nodiscard]] uint32_t row_block_count() const { return (rows_ + kRowBlock - 1) / kRowBlock; }
  [[nodiscard]] uint32_t RowsOf(uint32_t row_block) const {
    const uint32_t left = rows_ - row_block * kRowBlock;
    return left < kRowBlock ? left : kRowBlock;
  }
  // The row block's ActivationBlocks, once quantised: [cols / 32] of RowsOf(row_block) rows. What
  // kRowBlock rows would take may be read past the last one.
  [[nodiscard]] const std::byte* BlocksOf(uint32_t row_block) const {
    return blocks_.data() + BlockBytesBefore(row_block);
  }

 private:
  friend void MatMul(std::span<const MatMulOutput>, Activations&, ThreadPool&);

  void EnsureBlocks();
  void QuantizeRowBlock(uint32_t row_block);
  [[nodiscard]] size_t BlockBytesBefore(uint32_t row_block) const {
    return size_t{row_block} * kRowBlock * (cols_ / 32) * kRowBytes;
  }
  static constexpr size_t kRowBytes = ActivationBlock<std::byte>::kRowBytes;

  const float* values_ = nullptr;
  uint32_t rows_ = 0;
  uint32_t cols_ = 0;
  bool quantized_ = false;
  AlignedArray<std::byte> blocks_;
  AlignedArray<std::byte> panels_;  // MatMul's scratch: a task's panels, by thread
};

[[nodiscard]] inline Activations::Codes CodesFor(const PackedMatrix& reader) {
  return IsQuantized(reader.type()) ? Activations::Codes::kWanted : Activations::Codes::kNone;
}

// All products of one input (q, k, v; gate, up), at most 4, in one parallel loop. Requires
// x.cols() == weights->cols() for each.
void MatMul(std::span<const MatMulOutput> outputs, Activations& x, ThreadPool& pool);
void MatMul(const PackedMatrix& weights, Activations& x, float* y, uint32_t y_stride,
            ThreadPool& pool);

}  // namespace weir
