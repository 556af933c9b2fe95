#include "kv/sequence_state.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/byte_count.h"
#include "base/check.h"

namespace weir {
namespace {

uint32_t TilesFor(uint32_t tokens) {
  return static_cast<uint32_t>((uint64_t{tokens} + kTileTokens - 1) / kTileTokens);
}

Result<void> CheckFullPool(const TilePool* pool, uint32_t tiles) {
  if (pool == nullptr || tiles <= pool->free_count()) return {};
  const uint64_t bytes = tiles * pool->group().tile_bytes();
  return Fail(ErrorCode::kResourceExhausted,
              fmt::format("full KV pool: {} more tiles ({} bytes, {}) needed, {} of {} tiles free "
                          "in {} bytes; nothing was taken",
                          tiles, bytes, FormatByteCount(bytes), pool->free_count(),
                          pool->tile_count(), pool->bytes()));
}

// A tile of its own with the bytes of `from`; empty when the pool is full.
TileRef Copy(TilePool& pool, const TileRef& from) {
  TileRef copy = pool.Allocate();
  if (copy) {
    std::memcpy(pool.KeyPlane(copy.id(), 0), pool.KeyPlane(from.id(), 0),
                pool.group().tile_bytes());
  }
  return copy;
}

std::vector<TileRef> TakeRange(std::vector<NodeTiles>& tiles, TileRange range,
                               TileRef NodeTiles::*member) {
  std::vector<TileRef> taken;
  for (uint32_t i = range.first; i < range.end; ++i) taken.push_back(std::move(tiles[i].*member));
  return taken;
}

}  // namespace

SequenceState::SequenceState(KvCache& cache) : cache_(cache) {
  if (TilePool* pool = cache.window_pool()) {
    window_.emplace("window", *pool, *cache.window_scratch(),
                    RecentRule{RecentRule::Kind::kWindow, pool->group().window});
  }
  if (TilePool* pool = cache.owed_pool()) {
    owed_.emplace("owed-row", *pool, *cache.owed_scratch(),
                  RecentRule{RecentRule::Kind::kOwed, cache.layout().full->codec->residual_tiles});
  }
}

SequenceState::~SequenceState() { WEIR_CHECK(!open_); }

// The tile that the position parts is copied if others have it, because its rows from there on will
// be different ones.
TileNeed SequenceState::AdoptNeed(const PrefixTiles& prefix,
                                  const std::optional<ReplaySpan>& replay) {
  if (prefix.position % kTileTokens == 0) return {};
  const auto copies = [](const TileRef& tile) { return tile && !tile.is_exclusive() ? 1U : 0U; };
  const NodeTiles& last = prefix.tiles.back();
  if (replay) return {.full = copies(last.full)};
  return {.full = copies(last.full), .window = copies(last.window), .owed = copies(last.owed)};
}

Result<void> SequenceState::Adopt(PrefixTiles&& prefix, const std::optional<ReplaySpan>& replay) {
  WEIR_CHECK(begin_ == 0 && full_.empty() && !open_);
  const uint32_t position = prefix.position;
  WEIR_CHECK(prefix.tiles.size() == TilesFor(position));
  if (position % kTileTokens != 0) {
    NodeTiles& last = prefix.tiles.back();
    const auto own = [](TilePool* pool, TileRef& tile) {
      if (pool == nullptr || !tile || tile.is_exclusive()) return true;
      tile = Copy(*pool, tile);
      return static_cast<bool>(tile);
    };
    const bool copies_full = !cache_.owed_pool();  // codes of a tile in part are never read
    if (!copies_full && !last.full.is_exclusive()) last.full = cache_.full_pool()->Allocate();
    if (!(copies_full ? own(cache_.full_pool(), last.full) : static_cast<bool>(last.full)) ||
        (!replay &&
         (!own(cache_.window_pool(), last.window) || !own(cache_.owed_pool(), last.owed)))) {
      return Fail(ErrorCode::kResourceExhausted,
                  fmt::format("no free tile for a copy of the rows before position {}", position));
    }
  }
  for (NodeTiles& tiles : prefix.tiles) {
    if (cache_.full_pool() != nullptr) full_.push_back(std::move(tiles.full));
  }
  full_written_ = position;
  begin_ = replay ? replay->begin : position;
  for (auto* recent : {&window_, &owed_}) {
    if (!*recent) continue;
    if (replay) {
      (*recent)->Restart(replay->begin,
                         recent == &window_ ? replay->window_whole_from : replay->owed_whole_from);
    } else {
      const TileRange live = (*recent)->LiveAt(position);
      (*recent)->Adopt(position,
                       TakeRange(prefix.tiles, live,
                                 recent == &window_ ? &NodeTiles::window : &NodeTiles::owed));
    }
  }
  return {};
}

uint32_t SequenceState::NewFullTiles(uint32_t end) const {
  if (cache_.full_pool() == nullptr) return 0;
  return TilesFor(end) - std::min(TilesFor(end), static_cast<uint32_t>(full_.size()));
}

void SequenceState::PlanRecent(uint32_t end, const RetainPlan& retain) {
  if (window_) window_->Plan(begin_, end, retain);
  if (owed_) owed_->Plan(begin_, end, retain);
}

TileNeed SequenceState::NeedFor(uint32_t tokens, const RetainPlan& retain) {
  WEIR_CHECK(!open_);
  PlanRecent(begin_ + tokens, retain);
  return {.full = NewFullTiles(begin_ + tokens),
          .window = window_ ? window_->planned_need() : 0,
          .owed = owed_ ? owed_->planned_need() : 0};
}

Result<void> SequenceState::Begin(uint32_t tokens, const RetainPlan& retain) {
  WEIR_CHECK(!open_ && !recent_rows_lost_);
  WEIR_CHECK(tokens > 0 && tokens <= cache_.max_chunk_tokens());
  if (tokens > std::numeric_limits<uint32_t>::max() - begin_) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} tokens after position {}: positions are 32 bits", tokens, begin_));
  }
  const uint32_t end = begin_ + tokens;
  PlanRecent(end, retain);
  const uint32_t new_full = NewFullTiles(end);
  WEIR_TRY(CheckFullPool(cache_.full_pool(), new_full));
  if (window_) WEIR_TRY(window_->CheckRoom());
  if (owed_) WEIR_TRY(owed_->CheckRoom());

  full_count_before_ = static_cast<uint32_t>(full_.size());
  for (uint32_t i = 0; i < new_full; ++i) full_.push_back(cache_.full_pool()->Allocate());
  if (window_) window_->Open();
  if (owed_) owed_->Open();
  end_ = end;
  full_layers_ended_ = 0;
  window_layers_ended_ = 0;
  open_ = true;
  return {};
}

MutablePlanes SequenceState::FullPlanes(uint32_t layer, uint32_t tile) const {
  const TileId id = full_[tile].id();
  return {cache_.full_pool()->KeyPlane(id, layer), cache_.full_pool()->ValuePlane(id, layer)};
}

const KvGroup& SequenceState::GroupOf(KvLayer layer) const {
  return layer.group == KvGroupKind::kFull ? *cache_.layout().full : *cache_.layout().window;
}

// Rows of a full group that is coded per tile go to its owed tiles, and are coded from there.
RowPlanes SequenceState::RowsOf(KvLayer layer, uint32_t tile) const {
  const uint32_t first = tile * kTileTokens;
  WEIR_DCHECK(open_ && first < end_ && begin_ - std::min(begin_, first) < kTileTokens);
  const bool is_full = layer.group == KvGroupKind::kFull;
  const uint32_t written = is_full && !owed_ ? full_written_ : 0;
  const uint32_t end = end_ - first < kTileTokens ? end_ : first + kTileTokens;
  const uint32_t begin = std::min(std::max({begin_, first, written}), end);
  if (begin == end) return {.begin = end, .end = end};
  const MutablePlanes planes = !is_full ? window_->PlanesOf(layer.index, tile)
                               : owed_  ? owed_->PlanesOf(layer.index, tile)
                                        : FullPlanes(layer.index, tile);
  return {planes.keys, planes.values, begin, end};
}

// Tiles whose row 128 the chunk wrote, unless they were adopted whole.
void SequenceState::CodeWholeTiles(uint32_t layer) {
  const KvGroup& group = *cache_.layout().full;
  const uint32_t first = std::max(begin_, full_written_) / kTileTokens;
  for (uint32_t tile = first; (tile + 1) * kTileTokens <= end_; ++tile) {
    const MutablePlanes rows = owed_->PlanesOf(layer, tile);
    const MutablePlanes codes = FullPlanes(layer, tile);
    group.codec->encode_keys(rows.keys, group.kv_heads, group.k_dim, codes.keys);
    group.codec->encode_values(rows.values, group.kv_heads, group.v_dim, codes.values);
  }
}

TileTable SequenceState::Tiles(KvLayer layer) {
  WEIR_DCHECK(open_);
  const bool is_window = layer.group == KvGroupKind::kWindow;
  const TileRange visible =
      is_window ? window_->visible() : TileRange{0, (end_ - 1) / kTileTokens + 1};
  table_.clear();
  for (uint32_t tile = visible.first; tile < visible.end; ++tile) {
    const MutablePlanes planes =
        is_window ? window_->PlanesOf(layer.index, tile) : FullPlanes(layer.index, tile);
    table_.push_back({planes.keys, planes.values});
  }
  TileTable table{.format = GroupOf(layer).format, .first_tile = visible.first, .tiles = table_};
  if (is_window) table.first_position = window_->origin();
  if (is_window || !owed_) return table;

  CodeWholeTiles(layer.index);
  const TileRange owed = owed_->visible();
  owed_table_.clear();
  for (uint32_t tile = owed.first; tile < owed.end; ++tile) {
    const MutablePlanes planes = owed_->PlanesOf(layer.index, tile);
    owed_table_.push_back({planes.keys, planes.values});
  }
  table.residual_tiles = cache_.layout().full->codec->residual_tiles;
  table.first_owed_tile = owed.first;
  table.owed = owed_table_;
  return table;
}

void SequenceState::EndLayer(KvLayer layer) {
  WEIR_CHECK(open_);
  if (layer.group == KvGroupKind::kFull) {
    if (owed_) owed_->EndLayer(layer.index);
    ++full_layers_ended_;
    return;
  }
  window_->EndLayer(layer.index);
  ++window_layers_ended_;
}

void SequenceState::Commit() {
  WEIR_CHECK(open_);
  if (window_) {
    WEIR_CHECK(window_layers_ended_ == cache_.window_pool()->group().layer_count);
    window_->Commit();
  }
  if (owed_) {
    WEIR_CHECK(full_layers_ended_ == cache_.owed_pool()->group().layer_count);
    owed_->Commit();
  }
  begin_ = end_;
  CloseChunk();
}

void SequenceState::Abandon() {
  WEIR_CHECK(open_);
  full_.resize(full_count_before_);
  const bool window_lost = window_ && window_->Abandon(window_layers_ended_ > 0);
  const bool owed_lost = owed_ && owed_->Abandon(full_layers_ended_ > 0);
  recent_rows_lost_ = window_lost || owed_lost;
  CloseChunk();
}

void SequenceState::CloseChunk() { open_ = false; }

NodeTiles SequenceState::TilesAt(uint32_t tile) const {
  NodeTiles tiles;
  if (tile < full_.size()) tiles.full = full_[tile].Share();
  if (window_) tiles.window = window_->Share(tile);
  if (owed_) tiles.owed = owed_->Share(tile);
  return tiles;
}

std::vector<NodeTiles> SequenceState::LeavingTiles() const {
  std::vector<NodeTiles> leaving;
  const auto add = [&](const std::optional<RecentTiles>& recent, TileRef NodeTiles::*member) {
    if (!recent) return;
    for (TileRef& tile : recent->ShareLeaving()) leaving.emplace_back().*member = std::move(tile);
  };
  add(window_, &NodeTiles::window);
  add(owed_, &NodeTiles::owed);
  return leaving;
}

void SequenceState::ReleaseKept() {
  if (window_) window_->ReleaseKept();
  if (owed_) owed_->ReleaseKept();
}

bool SequenceState::HasRecentTile(uint32_t tile) const {
  return (window_ && window_->Owns(tile)) || (owed_ && owed_->Owns(tile));
}

void SequenceState::Repoint(uint32_t tile, const NodeTiles& tiles) {
  WEIR_CHECK(!open_ && (tile + 1) * kTileTokens <= begin_);
  if (tiles.full && tile < full_.size()) full_[tile] = tiles.full.Share();
  if (window_) window_->Repoint(tile, tiles.window);
  if (owed_) owed_->Repoint(tile, tiles.owed);
}

}  // namespace weir
