// How llama-bench describes a model in its rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "loaded_model.h"

namespace weir {

struct BenchModel {
  std::string path;
  std::string type;  // "gemma3 270M Q4_K - Medium"
  uint64_t bytes = 0;
  uint64_t parameters = 0;
};

[[nodiscard]] Result<BenchModel> DescribeModel(const LoadedModel& loaded);

}  // namespace weir
