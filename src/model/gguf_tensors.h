// The tensor table of a GGUF file: names, shapes, types and where their bytes lie.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/gguf.h"
#include "model/gguf_values.h"

namespace weir {

// Reads `count` entries at `cursor` and checks them against the file: types that Weir computes
// with, whole blocks in a row, aligned ranges inside `file` that do not overlap, unique names. The
// tensors' data starts at the first multiple of `alignment` after the table.
Result<std::vector<GgufTensor>> ReadGgufTensors(GgufCursor& cursor, uint64_t count,
                                                uint64_t alignment,
                                                std::span<const std::byte> file);

}  // namespace weir
