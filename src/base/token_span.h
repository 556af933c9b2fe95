// Comparing sequences of tokens.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/ids.h"

namespace weir {

// Tokens that two sequences have in common from their first one on.
[[nodiscard]] inline uint32_t CommonBeginning(std::span<const TokenId> a,
                                              std::span<const TokenId> b) {
  return static_cast<uint32_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace weir
