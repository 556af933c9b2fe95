#include "quant/weight_type.h"

#include <array>

#include "base/check.h"

namespace weir {
namespace {

// In the order of WeightType.
constexpr std::array<WeightTypeInfo, 11> kInfos = {{
    {"F32", 0, 1, 4},
    {"F16", 1, 1, 2},
    {"BF16", 30, 1, 2},
    {"Q4_0", 2, 32, 18},
    {"Q4_1", 3, 32, 20},
    {"Q5_0", 6, 32, 22},
    {"Q5_1", 7, 32, 24},
    {"Q8_0", 8, 32, 34},
    {"Q4_K", 12, 256, 144},
    {"Q5_K", 13, 256, 176},
    {"Q6_K", 14, 256, 210},
}};

}  // namespace

const WeightTypeInfo& InfoOf(WeightType type) { return kInfos[static_cast<size_t>(type)]; }

std::optional<WeightType> WeightTypeFromGgml(uint32_t ggml_id) {
  for (size_t index = 0; index < kInfos.size(); ++index) {
    if (kInfos[index].ggml_id == ggml_id) return static_cast<WeightType>(index);
  }
  return std::nullopt;
}

uint64_t RowBytes(WeightType type, uint64_t cols) {
  const WeightTypeInfo& info = InfoOf(type);
  WEIR_CHECK(cols % info.block_elements == 0);
  return cols / info.block_elements * info.block_bytes;
}

}  // namespace weir
