#include "bench_model.h"

#include <fmt/format.h>

#include <string_view>

namespace weir {
namespace {

// llama.cpp's names of general.file_type.
std::string_view FileTypeName(uint64_t type) {
  switch (type) {
    case 0:
      return "all F32";
    case 1:
      return "F16";
    case 2:
      return "Q4_0";
    case 3:
      return "Q4_1";
    case 7:
      return "Q8_0";
    case 8:
      return "Q5_0";
    case 9:
      return "Q5_1";
    case 14:
      return "Q4_K - Small";
    case 15:
      return "Q4_K - Medium";
    case 16:
      return "Q5_K - Small";
    case 17:
      return "Q5_K - Medium";
    case 18:
      return "Q6_K";
    case 32:
      return "BF16";
    default:
      return "";
  }
}

}  // namespace

Result<BenchModel> DescribeModel(const LoadedModel& loaded) {
  BenchModel model{.path = loaded.file.path(), .type = loaded.model.config().architecture};
  const auto label = WEIR_TRY(loaded.file.String("general.size_label"));
  if (label) model.type += fmt::format(" {}", *label);
  const auto type = WEIR_TRY(loaded.file.Unsigned("general.file_type"));
  if (type && !FileTypeName(*type).empty()) model.type += fmt::format(" {}", FileTypeName(*type));
  const auto& window = loaded.model.config().window;
  if (window && window->window != loaded.file_window) {
    model.type += fmt::format(" W={}", window->window);
  }
  for (const GgufTensor& tensor : loaded.file.tensors()) {
    model.bytes += tensor.bytes.size();
    uint64_t elements = 1;
    for (const uint64_t extent : tensor.shape) elements *= extent;
    model.parameters += elements;
  }
  return model;
}

}  // namespace weir
