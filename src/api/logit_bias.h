// logit_bias of a request: which tokens are more or less likely, by how much.
//
//   {"15": -100, "7": 2.5}            OpenAI's form: token ids as strings
//   [[15, false], [7, 2.5]]           llama.cpp's form; false: never
//
// Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "api/fields.h"
#include "model/sampler.h"

namespace weir {

inline constexpr size_t kLogitBiasMaxCount = 4096;

// Sorted by token, each once, all in [0, vocab_size). Errors are left in `fields`.
[[nodiscard]] std::vector<LogitBias> ReadLogitBias(Fields& fields, uint32_t vocab_size);

}  // namespace weir
