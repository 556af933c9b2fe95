// The weight formats of GGUF that Weir reads, and their scalar meaning.
//
// Pure functions. Block layouts follow the public GGUF/ggml format; DequantizeRow is the
// specification that packed kernels are tested against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weir {

enum class WeightType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ4_K,
  kQ5_K,
  kQ6_K,
};

struct WeightTypeInfo {
  std::string_view name;    // as in GGUF: "Q4_K"
  uint32_t ggml_id;         // the number in a GGUF tensor table
  uint32_t block_elements;  // 1, 32 or 256
  uint32_t block_bytes;
};

[[nodiscard]] const WeightTypeInfo& InfoOf(WeightType type);
[[nodiscard]] std::optional<WeightType> WeightTypeFromGgml(uint32_t ggml_id);

// Bytes of a row of `cols` elements. Requires cols % block_elements == 0.
[[nodiscard]] uint64_t RowBytes(WeightType type, uint64_t cols);

// One row to f32. Requires bytes.size() == RowBytes(type, out.size()).
void DequantizeRow(WeightType type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace weir
