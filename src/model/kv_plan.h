// What a context costs in KV bytes, against the same model with no window anywhere.
//
// Pure arithmetic over a layout: needs no weights. A lone sequence; whole tiles.
#pragma once

#include <cstdint>

#include "kv/layout.h"

namespace weir {

struct KvPlan {
  uint64_t full_bytes = 0;
  uint64_t window_bytes = 0;
  uint64_t all_full_bytes = 0;  // every layer keeping every position

  // What each further position adds, once the windows are full.
  uint64_t bytes_per_token = 0;
  uint64_t all_full_bytes_per_token = 0;

  [[nodiscard]] uint64_t total_bytes() const { return full_bytes + window_bytes; }
};

[[nodiscard]] KvPlan PlanKv(const KvLayout& layout, uint64_t tokens);

}  // namespace weir
