#include "model/weight_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace weir {
namespace {

std::optional<uint32_t> BlockOf(std::string_view tensor_name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!tensor_name.starts_with(kPrefix)) return std::nullopt;
  uint32_t block = 0;
  const char* begin = tensor_name.data() + kPrefix.size();
  const auto parsed = std::from_chars(begin, tensor_name.data() + tensor_name.size(), block);
  if (parsed.ec != std::errc()) return std::nullopt;
  return block;
}

}  // namespace

WeightReader::WeightReader(const GgufFile& file, ThreadPool& pool,
                           const std::function<void(double)>& progress)
    : file_(file), pool_(pool), progress_(progress) {
  for (const GgufTensor& tensor : file.tensors()) bytes_total_ += tensor.bytes.size();
}

bool WeightReader::Has(const std::string& name) const { return file_.FindTensor(name) != nullptr; }

Result<const GgufTensor*> WeightReader::Take(const std::string& name,
                                             std::initializer_list<uint64_t> shape) {
  const GgufTensor* tensor = file_.FindTensor(name);
  if (tensor == nullptr) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{}: tensor '{}' of shape [{}] is missing; the model is not loaded",
                            file_.path(), name, fmt::join(shape, ", ")));
  }
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    return Fail(
        ErrorCode::kCorrupt,
        fmt::format("{}: tensor '{}' has shape [{}], the model's metadata wants [{}]; the "
                    "model is not loaded",
                    file_.path(), name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", ")));
  }
  taken_.insert(tensor);
  return tensor;
}

void WeightReader::Report(uint64_t bytes) {
  const uint64_t total = std::max<uint64_t>(1, bytes_total_);
  if (progress_) progress_(static_cast<double>(bytes) / static_cast<double>(total));
}

PackedMatrix WeightReader::Pack(const MatrixView& matrix) {
  auto packed = PackedMatrix::Pack(matrix, pool_, arena_, [this](uint64_t bytes) {
    file_.DropPages();
    Report(bytes_done_ + bytes);
  });
  bytes_done_ += matrix.bytes.size();
  return packed;
}

Result<std::vector<float>> WeightReader::Vector(const std::string& name, uint32_t count) {
  const GgufTensor* tensor = WEIR_TRY(Take(name, {count}));
  std::vector<float> values(count);
  DequantizeRow(tensor->type, tensor->bytes, values);
  bytes_done_ += tensor->bytes.size();
  Report(bytes_done_);
  return values;
}

Result<std::vector<float>> WeightReader::OptionalVector(const std::string& name, uint32_t count) {
  if (!Has(name)) return std::vector<float>();
  return Vector(name, count);
}

Result<PackedMatrix> WeightReader::Matrix(const std::string& name, uint32_t rows, uint32_t cols) {
  const GgufTensor* tensor = WEIR_TRY(Take(name, {cols, rows}));
  return Pack({.type = tensor->type, .rows = rows, .cols = cols, .bytes = tensor->bytes});
}

Result<std::vector<PackedMatrix>> WeightReader::Matrices(const std::string& name, uint32_t count,
                                                         uint32_t rows, uint32_t cols) {
  const GgufTensor* tensor = WEIR_TRY(Take(name, {cols, rows, count}));
  const uint64_t matrix_bytes = tensor->bytes.size() / count;
  std::vector<PackedMatrix> matrices(count);
  for (uint32_t i = 0; i < count; ++i) {
    matrices[i] = Pack({.type = tensor->type,
                        .rows = rows,
                        .cols = cols,
                        .bytes = tensor->bytes.subspan(i * matrix_bytes, matrix_bytes)});
  }
  return matrices;
}

Result<void> WeightReader::CheckAllTaken(uint32_t block_count) const {
  for (const GgufTensor& tensor : file_.tensors()) {
    if (taken_.contains(&tensor) || BlockOf(tensor.name).value_or(0) >= block_count) continue;
    return Fail(ErrorCode::kUnsupported,
                fmt::format("{}: tensor '{}' of shape [{}] belongs to no part of this architecture "
                            "that Weir computes; the model is not loaded",
                            file_.path(), tensor.name, fmt::join(tensor.shape, ", ")));
  }
  return {};
}

}  // namespace weir
