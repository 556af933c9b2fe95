// One row of `weir bench` as a JSON record.
#pragma once

#include <nlohmann/json.hpp>

#include "bench_report.h"

namespace weir {

using BenchJson = nlohmann::ordered_json;

// All fields of a llama-bench record; those about other hardware hold its CPU defaults. Decode rows
// also have llama-batched-bench's; with limits measured, `roofline` has what was reached of them.
[[nodiscard]] BenchJson BenchRecord(const BenchResult& result);

}  // namespace weir
