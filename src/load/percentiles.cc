#include "load/percentiles.h"

#include <algorithm>
#include <numeric>

namespace weir {

Percentiles PercentilesOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t count = values.size();
  // The smallest value that at least `percent` of 100 values do not exceed. In integers: 0.9 * 10
  // may be above 9.
  const auto at = [&](size_t percent) { return values[(percent * count + 99) / 100 - 1]; };
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {.count = count,
          .mean = sum / static_cast<double>(count),
          .p50 = at(50),
          .p90 = at(90),
          .p99 = at(99),
          .max = values.back()};
}

}  // namespace weir
