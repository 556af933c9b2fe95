#include "kv/sequence_state.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/byte_count.h"
#include "base/check.h"

namespace weir {
namespace {

uint32_t FullTilesFor(uint32_t tokens) {
  return static_cast<uint32_t>((uint64_t{tokens} + kTileTokens - 1) / kTileTokens);
}

Result<void> CheckPool(const TilePool* pool, std::string_view name, uint32_t tiles) {
  if (pool == nullptr || tiles <= pool->free_count()) return {};
  const uint64_t tile_bytes = pool->group().tile_bytes();
  return Fail(ErrorCode::kResourceExhausted,
              fmt::format("{} KV pool: {} more tiles ({} bytes, {}) needed, {} of {} tiles free in "
                          "{} bytes; nothing was taken",
                          name, tiles, tiles * tile_bytes, FormatByteCount(tiles * tile_bytes),
                          pool->free_count(), pool->tile_count(), pool->bytes()));
}

}  // namespace

SequenceState::~SequenceState() { WEIR_CHECK(!open_); }

Result<void> SequenceState::CheckRoom(uint32_t full_tiles, uint32_t window_tiles) const {
  WEIR_TRY(CheckPool(cache_.full_pool(), "full", full_tiles));
  WEIR_TRY(CheckPool(cache_.window_pool(), "window", window_tiles));
  const WindowScratch* scratch = cache_.window_scratch();
  if (scratch == nullptr || plan_.scratch.count() <= scratch->free_count()) return {};
  return Fail(ErrorCode::kResourceExhausted,
              fmt::format("window scratch: {} tiles needed, {} of {} free in {} bytes; nothing was "
                          "taken",
                          plan_.scratch.count(), scratch->free_count(), scratch->slot_count(),
                          scratch->bytes()));
}

// Entering tiles take the slots of leaving tiles that nobody else refers to, then fresh ones.
void SequenceState::PlanEntries() {
  entries_.clear();
  uint32_t leaving = 0;
  uint32_t fresh = 0;
  while (entries_.size() < plan_.entering().count()) {
    while (leaving < plan_.leaving().count() && !window_[leaving].is_exclusive()) ++leaving;
    const bool takes_over = leaving < plan_.leaving().count();
    entries_.push_back(takes_over ? Entry{window_[leaving].id(), true, leaving++}
                                  : Entry{TileId(), false, fresh++});
  }
}

Result<void> SequenceState::Begin(uint32_t tokens) {
  WEIR_CHECK(!open_ && !window_rows_lost_);
  WEIR_CHECK(tokens > 0 && tokens <= cache_.max_chunk_tokens());
  if (tokens > std::numeric_limits<uint32_t>::max() - begin_) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens after position {}: positions are 32 bits", tokens, begin_));
  }
  const uint32_t end = begin_ + tokens;
  plan_ = cache_.window_pool() != nullptr
              ? PlanWindowChunk(cache_.layout().window->window, begin_, end)
              : WindowPlan{};
  PlanEntries();
  const uint32_t new_full =
      cache_.full_pool() != nullptr ? FullTilesFor(end) - static_cast<uint32_t>(full_.size()) : 0;
  const auto new_window = static_cast<uint32_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return !entry.takes_over; }));
  WEIR_TRY(CheckRoom(new_full, new_window));

  full_count_before_ = static_cast<uint32_t>(full_.size());
  for (uint32_t i = 0; i < new_full; ++i) full_.push_back(cache_.full_pool()->Allocate());
  for (Entry& entry : entries_) {
    if (entry.takes_over) continue;
    fresh_.push_back(cache_.window_pool()->Allocate());
    entry.id = fresh_.back().id();
  }
  if (plan_.scratch.count() > 0) {
    cache_.window_scratch()->Reserve(plan_.scratch.count(), scratch_slots_);
  }
  end_ = end;
  window_layers_ended_ = 0;
  open_ = true;
  return {};
}

SequenceState::MutablePlanes SequenceState::PlanesOf(KvLayer layer, uint32_t tile) const {
  if (layer.group == KvGroupKind::kFull) {
    const TileId id = full_[tile].id();
    return {cache_.full_pool()->KeyPlane(id, layer.index),
            cache_.full_pool()->ValuePlane(id, layer.index)};
  }
  if (plan_.before.Contains(tile)) {
    const TileId id = window_[tile - plan_.before.first].id();
    return {cache_.window_pool()->KeyPlane(id, layer.index),
            cache_.window_pool()->ValuePlane(id, layer.index)};
  }
  const uint32_t slot = scratch_slots_[tile - plan_.scratch.first];
  return {cache_.window_scratch()->KeyPlane(slot), cache_.window_scratch()->ValuePlane(slot)};
}

const KvGroup& SequenceState::GroupOf(KvLayer layer) const {
  return layer.group == KvGroupKind::kFull ? *cache_.layout().full : *cache_.layout().window;
}

void SequenceState::Write(KvLayer layer, uint32_t position, std::span<const float> keys,
                          std::span<const float> values) {
  WEIR_DCHECK(open_ && begin_ <= position && position < end_);
  const KvGroup& group = GroupOf(layer);
  const MutablePlanes planes = PlanesOf(layer, position / kTileTokens);
  const uint32_t slot = position % kTileTokens;
  WriteKeyRow(group.format, keys, group.kv_heads, group.k_dim, slot, planes.keys);
  WriteValueRow(group.format, values, group.kv_heads, group.v_dim, slot, planes.values);
}

TileTable SequenceState::Tiles(KvLayer layer) {
  WEIR_DCHECK(open_);
  TileRange visible{0, (end_ - 1) / kTileTokens + 1};
  if (layer.group == KvGroupKind::kWindow) {
    visible.first = plan_.before.count() > 0 ? plan_.before.first : plan_.scratch.first;
  }
  table_.clear();
  for (uint32_t tile = visible.first; tile < visible.end; ++tile) {
    const MutablePlanes planes = PlanesOf(layer, tile);
    table_.push_back({planes.keys, planes.values});
  }
  return {GroupOf(layer).format, visible.first, table_};
}

void SequenceState::EndLayer(KvLayer layer) {
  WEIR_CHECK(open_);
  if (layer.group == KvGroupKind::kFull) return;
  const TilePool& pool = *cache_.window_pool();
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    const MutablePlanes from = PlanesOf(layer, plan_.entering().first + i);
    const TileId to = entries_[i].id;
    std::memcpy(pool.KeyPlane(to, layer.index), from.keys, pool.group().k_plane_bytes());
    std::memcpy(pool.ValuePlane(to, layer.index), from.values, pool.group().v_plane_bytes());
  }
  ++window_layers_ended_;
}

void SequenceState::Commit() {
  WEIR_CHECK(open_);
  if (TilePool* pool = cache_.window_pool()) {
    WEIR_CHECK(window_layers_ended_ == pool->group().layer_count);
    next_window_.clear();
    for (uint32_t tile = plan_.staying().first; tile < plan_.staying().end; ++tile) {
      next_window_.push_back(std::move(window_[tile - plan_.before.first]));
    }
    for (const Entry& entry : entries_) {
      next_window_.push_back(
          std::move(entry.takes_over ? window_[entry.index] : fresh_[entry.index]));
    }
    window_.swap(next_window_);
    next_window_.clear();  // leaving tiles that nobody took over go here
    fresh_.clear();
  }
  begin_ = end_;
  CloseChunk();
}

void SequenceState::Abandon() {
  WEIR_CHECK(open_);
  full_.resize(full_count_before_);
  fresh_.clear();
  window_rows_lost_ = window_layers_ended_ > 0 && !entries_.empty();
  CloseChunk();
}

void SequenceState::CloseChunk() {
  if (WindowScratch* scratch = cache_.window_scratch()) scratch->Release(scratch_slots_);
  open_ = false;
}

}  // namespace weir
