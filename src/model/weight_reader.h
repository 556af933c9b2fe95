// Takes tensors out of a GGUF file by name, checked against the shape that the model wants.
//
// Keeps count of what was taken: a tensor that nobody asked for is a part of the model that the
// forward pass would leave out, so it is an error rather than a wrong answer.
//
// Pages of the file are given back to the system as matrices are packed, and `progress` hears of
// it.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/arena.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gguf.h"
#include "quant/matmul.h"

namespace weir {

class WeightReader {
 public:
  WeightReader(const GgufFile& file, ThreadPool& pool, const std::function<void(double)>& progress);

  [[nodiscard]] bool Has(const std::string& name) const;

  // One row of f32, whatever the tensor's format.
  Result<std::vector<float>> Vector(const std::string& name, uint32_t count);
  // Empty when the file has no such tensor.
  Result<std::vector<float>> OptionalVector(const std::string& name, uint32_t count);

  Result<PackedMatrix> Matrix(const std::string& name, uint32_t rows, uint32_t cols);
  // `count` matrices of one tensor.
  Result<std::vector<PackedMatrix>> Matrices(const std::string& name, uint32_t count, uint32_t rows,
                                             uint32_t cols);

  // Every tensor of the file was taken, leaving out blocks from `block_count` on (draft heads).
  Result<void> CheckAllTaken(uint32_t block_count) const;

 private:
  Result<const GgufTensor*> Take(const std::string& name, std::initializer_list<uint64_t> shape);
  PackedMatrix Pack(const MatrixView& matrix);
  void Report(uint64_t bytes);

  const GgufFile& file_;
  ThreadPool& pool_;
  Arena arena_;
  const std::function<void(double)>& progress_;
  std::unordered_set<const GgufTensor*> taken_;
  uint64_t bytes_total_ = 0;
  uint64_t bytes_done_ = 0;
};

}  // namespace weir
