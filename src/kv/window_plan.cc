#include "kv/window_plan.h"

#include <algorithm>

#include "quant/kv_tile.h"

namespace weir {

TileRange WindowPlan::leaving() const {
  return {before.first, std::clamp(after.first, before.first, before.end)};
}

TileRange WindowPlan::staying() const { return {leaving().end, before.end}; }

TileRange WindowPlan::entering() const { return {std::max(after.first, before.end), after.end}; }

TileRange LiveWindowTiles(uint32_t window, uint32_t next_position) {
  const uint32_t row_count = std::min(window - 1, next_position);
  if (row_count == 0) return {};
  return {(next_position - row_count) / kTileTokens, (next_position - 1) / kTileTokens + 1};
}

WindowPlan PlanWindowChunk(uint32_t window, uint32_t begin, uint32_t end) {
  WindowPlan plan{.before = LiveWindowTiles(window, begin),
                  .after = LiveWindowTiles(window, end),
                  .scratch = {begin / kTileTokens, (end - 1) / kTileTokens + 1}};
  if (plan.before.count() > 0) plan.scratch.first = std::max(plan.scratch.first, plan.before.end);
  plan.scratch.end = std::max(plan.scratch.end, plan.scratch.first);
  return plan;
}

}  // namespace weir
