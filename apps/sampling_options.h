// The sampling flags of the commands that write text.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

#include "model/sampler.h"

namespace weir {

struct SamplingOptions {
  SamplingParams params;
  std::optional<uint64_t> seed;  // absent: another one every run
};

void AddSamplingOptions(CLI::App& app, SamplingOptions& options);

// Checked, with a seed. kInvalidArgument names the parameter at fault.
[[nodiscard]] Result<SamplingParams> ResolveSampling(const SamplingOptions& options);

}  // namespace weir
