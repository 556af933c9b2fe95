#include "model/embedding.h"

#include <cstring>

#include "base/check.h"

namespace weir {

Embedding::Embedding(const MatrixView& table)
    : type_(table.type), rows_(table.rows), data_(table.bytes.size()) {
  std::memcpy(data_.data(), table.bytes.data(), table.bytes.size());
}

void Embedding::Row(TokenId token, std::span<float> out) const {
  const auto row = static_cast<uint32_t>(token.value());
  WEIR_CHECK(row < rows_);
  const uint64_t row_bytes = RowBytes(type_, out.size());
  DequantizeRow(type_, {data_.data() + row * row_bytes, row_bytes}, out);
}

}  // namespace weir
