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

TileRange LiveOwedTiles(uint32_t residual, uint32_t next_position) {
  const uint32_t tile = next_position / kTileTokens;
  const uint32_t first = tile - std::min(tile, residual);
  return {first, std::max(first, (next_position + kTileTokens - 1) / kTileTokens)};
}

TileRange RecentRule::Live(uint32_t next_position, uint32_t origin) const {
  if (next_position <= origin) return {};
  TileRange live = kind == Kind::kWindow ? LiveWindowTiles(reach, next_position)
                                         : LiveOwedTiles(reach, next_position);
  live.first = std::max(live.first, origin / kTileTokens);
  live.end = std::max(live.end, live.first);  // none, but at its place: PlanChunk compares
  return live;
}

WindowPlan PlanChunk(const RecentRule& rule, uint32_t begin, uint32_t end, uint32_t origin) {
  WindowPlan plan{.before = rule.Live(begin, origin),
                  .after = rule.Live(end, origin),
                  .scratch = {begin / kTileTokens, (end - 1) / kTileTokens + 1}};
  if (plan.before.count() > 0) plan.scratch.first = std::max(plan.scratch.first, plan.before.end);
  plan.scratch.end = std::max(plan.scratch.end, plan.scratch.first);
  return plan;
}

}  // namespace weir
