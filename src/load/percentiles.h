// Percentiles by nearest rank: always a value that was measured. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace weir {

struct Percentiles {
  size_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

// All 0 without values.
[[nodiscard]] Percentiles PercentilesOf(std::vector<double> values);

}  // namespace weir
