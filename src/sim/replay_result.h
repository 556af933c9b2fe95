// What a replay says: how many prompt tokens need not be computed.
#pragma once

#include <cstdint>

namespace weir {

struct ReplayResult {
  uint64_t prompt_tokens = 0;
  uint64_t hit_tokens = 0;

  [[nodiscard]] double hit_rate() const {
    if (prompt_tokens == 0) return 0;
    return static_cast<double>(hit_tokens) / static_cast<double>(prompt_tokens);
  }
};

}  // namespace weir
