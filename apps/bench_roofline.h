// Holds a measured row of `weir bench` against the machine: decode reads every weight and all
// visible KV once a step, so memory bounds it; prefill multiplies, so the byte dot product does.
#pragma once

#include <optional>
#include <string>

#include "bench_plan.h"
#include "machine_limits.h"
#include "model_work.h"

namespace weir {

struct RooflineShare {
  double per_token = 0;               // bytes or operations, by arithmetic
  double reached_per_s = 0;           // per_token times tokens a second
  double limit_per_s = 0;             // measured, all threads
  double one_thread_limit_per_s = 0;  // measured

  [[nodiscard]] double OfLimit() const { return reached_per_s / limit_per_s; }
};

struct Roofline {
  std::optional<RooflineShare> read =
      std::nullopt;  // decode: weights and KV, means over the row's depths
  std::optional<RooflineShare> int8 = std::nullopt;  // prefill: quantised matrices
  double attention_ops_per_token = 0;  // in f32, so against no limit here; mean over the row
  std::string instruction;             // of int8
};

// Empty for rows that mix prefill and decode.
[[nodiscard]] Roofline HoldAgainst(const MachineLimits& limits, const ModelWork& work,
                                   const BenchTest& test, double tokens_per_s);

}  // namespace weir
