#include "sched/memory_ledger.h"

#include <algorithm>

namespace weir {
namespace {

uint32_t TileCount(const TilePool* pool) { return pool == nullptr ? 0 : pool->tile_count(); }

}  // namespace

MemoryLedger::MemoryLedger(const KvCache& cache)
    : cache_(cache), marks_(size_t{TileCount(cache.full_pool())} + 1, 0) {}

void MemoryLedger::Begin() {
  ++round_;
  live_full_ = 0;
  promised_full_ = window_ = owed_ = 0;
}

TileNeed MemoryLedger::NeedOf(uint64_t tokens) const {
  const auto tiles = static_cast<uint32_t>((tokens + kTileTokens - 1) / kTileTokens);
  TileNeed need;
  if (cache_.full_pool() != nullptr) need.full = tiles;
  if (cache_.window_pool() != nullptr) {
    need.window = std::min(tiles, cache_.layout().window->max_window_tiles());
  }
  if (cache_.owed_pool() != nullptr) {
    need.owed = std::min(tiles, cache_.layout().full->codec->residual_tiles + 1);
  }
  return need;
}

bool MemoryLedger::Mark(TileId tile) {
  const bool is_new = marks_[tile.value()] != round_;
  marks_[tile.value()] = round_;
  return is_new;
}

uint32_t MemoryLedger::ReservedFullTiles(const SequenceView& view, uint64_t promised_tokens) const {
  const uint32_t promised = NeedOf(promised_tokens).full;
  return promised - std::min(promised, view.full_tile_count());
}

void MemoryLedger::AddRunning(const SequenceView& view, uint64_t promised_tokens) {
  const TileNeed need = NeedOf(promised_tokens);
  for (uint32_t i = 0; i < view.full_tile_count(); ++i) {
    if (Mark(view.FullTile(i))) ++live_full_;
  }
  promised_full_ += ReservedFullTiles(view, promised_tokens);
  window_ += std::max(need.window, view.window_tile_count());
  owed_ += std::max(need.owed, view.owed_tile_count());
}

bool MemoryLedger::HasRoomFor(uint64_t promised_tokens, std::span<const TileId> shared) const {
  const TileNeed need = NeedOf(promised_tokens);
  const auto already_live = static_cast<uint64_t>(std::ranges::count_if(
      shared, [this](TileId tile) { return marks_[tile.value()] == round_; }));
  const uint64_t fresh = need.full - std::min<uint64_t>(need.full, already_live);
  return live_full_ + promised_full_ + fresh <= TileCount(cache_.full_pool()) &&
         window_ + need.window <= TileCount(cache_.window_pool()) &&
         owed_ + need.owed <= TileCount(cache_.owed_pool());
}

}  // namespace weir
