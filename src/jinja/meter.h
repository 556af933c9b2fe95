// What one rendering may cost: a template from a model file is not trusted.
//
// Every node evaluated is a step, and so are each 64 bytes read and each item visited; every byte
// of every new value counts as allocated, freed or not. A hostile template therefore ends in an
// Error after a bounded time and with bounded memory.
//
// Threads: one rendering owns one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/result.h"

namespace weir::jinja {

struct Limits {
  uint64_t steps = 2'000'000;
  uint64_t allocated_bytes = 32ULL << 20;
  uint64_t output_bytes = 4ULL << 20;  // of the prompt, or of one string
  uint32_t call_depth = 1000;          // nested expressions, statements and macro calls
  uint32_t value_depth = 200;          // lists in lists
};

// What a rendering may cost that is given `input_bytes`: as above for none, so that a template that
// runs away ends soon; with room for one that looks at each message from each; some seconds at
// most.
inline Limits LimitsFor(uint64_t input_bytes) {
  Limits limits;
  limits.steps = std::min<uint64_t>(limits.steps + 64 * input_bytes, 30'000'000);
  limits.allocated_bytes =
      std::min(limits.allocated_bytes + 256 * input_bytes, uint64_t{256} << 20) + 32 * input_bytes;
  limits.output_bytes += 4 * input_bytes;
  return limits;
}

class Meter {
 public:
  explicit Meter(const Limits& limits) : limits_(limits) {}

  Result<void> Step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ <= limits_.steps) return {};
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("template needs more than {} steps", limits_.steps));
  }
  // Reading `bytes` without keeping them.
  Result<void> Scan(uint64_t bytes) { return Step(1 + bytes / 64); }
  Result<void> Allocate(uint64_t bytes) {
    allocated_bytes_ += bytes;
    if (allocated_bytes_ <= limits_.allocated_bytes) return Scan(bytes);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("template needs more than {} bytes", limits_.allocated_bytes));
  }
  [[nodiscard]] const Limits& limits() const { return limits_; }

 private:
  const Limits limits_;
  uint64_t steps_ = 0;
  uint64_t allocated_bytes_ = 0;
};

}  // namespace weir::jinja
