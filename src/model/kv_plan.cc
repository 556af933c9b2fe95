#include "model/kv_plan.h"

namespace weir {

KvPlan PlanKv(const KvLayout& layout, uint64_t tokens) {
  const uint64_t tiles = (tokens + kTileTokens - 1) / kTileTokens;
  const uint64_t full_tile = layout.full ? layout.full->tile_bytes() : 0;
  const uint64_t window_tile = layout.window ? layout.window->tile_bytes() : 0;
  KvPlan plan;
  plan.full_bytes = layout.FullBytes(tokens);
  plan.window_bytes = layout.WindowBytes(tokens);
  plan.all_full_bytes = tiles * (full_tile + window_tile);
  plan.bytes_per_token = full_tile / kTileTokens;
  plan.all_full_bytes_per_token = (full_tile + window_tile) / kTileTokens;
  return plan;
}

}  // namespace weir
