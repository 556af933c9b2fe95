// The sampling flags of the commands that write text.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "model/sampler.h"

namespace weir {

struct SamplingOptions {
  SamplingParams params;
  int64_t seed = -1;  // below 0: another one every run
};

// -n: most tokens of an answer; -1: as many as the context holds.
void AddAnswerLengthOption(CLI::App& app, int64_t& max_tokens);
[[nodiscard]] uint64_t AnswerLength(int64_t max_tokens);

void AddSamplingOptions(CLI::App& app, SamplingOptions& options);

// Checked, with a seed. kInvalidArgument names the parameter at fault.
[[nodiscard]] Result<SamplingParams> ResolveSampling(const SamplingOptions& options);

}  // namespace weir
