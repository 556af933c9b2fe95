#include "kv/recent_tiles.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/byte_count.h"
#include "base/check.h"

namespace weir {

RecentTiles::RecentTiles(std::string_view name, TilePool& pool, LayerScratch& scratch,
                         const RecentRule& rule)
    : name_(name), pool_(pool), scratch_(scratch), rule_(rule) {}

void RecentTiles::Adopt(uint32_t position, std::vector<TileRef> tiles) {
  const TileRange live = rule_.Live(position);
  WEIR_CHECK(tiles.size() == live.count());
  first_tile_ = live.first;
  tiles_ = std::move(tiles);
}

void RecentTiles::Restart(uint32_t origin, uint32_t whole_from) {
  WEIR_CHECK(tiles_.empty());
  origin_ = origin;
  whole_from_ = whole_from;
}

bool RecentTiles::IsPlanned(uint32_t tile) const {
  return std::ranges::any_of(planned_, [tile](TileRange range) { return range.Contains(tile); });
}

uint32_t RecentTiles::LeavingSlots() const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < plan_.leaving().count(); ++i) {
    if (is_kept_[i] == 0 && tiles_[i].is_exclusive()) ++count;
  }
  return count;
}

void RecentTiles::Plan(uint32_t begin, uint32_t end, const RetainPlan& retain) {
  plan_ = PlanChunk(rule_, begin, end, origin_);
  end_ = end;
  keep_interior_ = retain.keep_interior;
  planned_.clear();
  for (const uint32_t position : retain.resume_positions) {
    planned_.push_back(rule_.Live(position, origin_));
  }
  const uint32_t entering = plan_.entering().count();
  is_kept_.assign(plan_.leaving().count(), 0);
  needed_ = entering - std::min(entering, LeavingSlots());
  for (uint32_t i = 0; i < is_kept_.size(); ++i) is_kept_[i] = IsPlanned(plan_.leaving().first + i);
  kept_scratch_.clear();
  for (uint32_t tile = plan_.scratch.first; tile < plan_.scratch.end; ++tile) {
    if (!plan_.after.Contains(tile) && IsPlanned(tile)) kept_scratch_.push_back(tile);
  }
  planned_need_ =
      entering - std::min(entering, LeavingSlots()) + static_cast<uint32_t>(kept_scratch_.size());
}

std::vector<TileRef> RecentTiles::ShareLeaving() const {
  std::vector<TileRef> leaving;
  for (uint32_t i = 0; i < is_kept_.size(); ++i) {
    const bool is_lent_once = tiles_[i] && pool_.reference_count(tiles_[i].id()) == 2;
    if (is_kept_[i] == 0 && is_lent_once) leaving.push_back(tiles_[i].Share());
  }
  return leaving;
}

Result<void> RecentTiles::CheckRoom() const {
  if (needed_ > pool_.free_count()) {
    const uint64_t bytes = needed_ * pool_.group().tile_bytes();
    return Fail(ErrorCode::kResourceExhausted,
                fmt::format("{} KV pool: {} more tiles ({} bytes, {}) needed, {} of {} tiles free "
                            "in {} bytes; nothing was taken",
                            name_, needed_, bytes, FormatByteCount(bytes), pool_.free_count(),
                            pool_.tile_count(), pool_.bytes()));
  }
  if (plan_.scratch.count() > scratch_.free_count()) {
    return Fail(ErrorCode::kResourceExhausted,
                fmt::format("{} scratch: {} tiles needed, {} of {} free in {} bytes; nothing was "
                            "taken",
                            name_, plan_.scratch.count(), scratch_.free_count(),
                            scratch_.slot_count(), scratch_.bytes()));
  }
  return {};
}

// Whole tiles that nothing asked for, newest first: a leaving one costs a slot only if its own was
// to be taken over.
void RecentTiles::KeepInterior(uint32_t spare) {
  const auto is_whole = [this](uint32_t tile) { return (tile + 1) * kTileTokens <= end_; };
  const uint32_t fresh = planned_need_ - static_cast<uint32_t>(kept_scratch_.size());
  uint32_t idle_slots = LeavingSlots() + fresh - plan_.entering().count();
  for (uint32_t i = plan_.leaving().count(); i > 0; --i) {
    if (is_kept_[i - 1] != 0 || !tiles_[i - 1].is_exclusive()) continue;
    if (!is_whole(plan_.leaving().first + i - 1) || (idle_slots == 0 && spare == 0)) continue;
    is_kept_[i - 1] = 1;
    --(idle_slots > 0 ? idle_slots : spare);
  }
  for (uint32_t tile = plan_.scratch.end; tile > plan_.scratch.first && spare > 0; --tile) {
    const uint32_t candidate = tile - 1;
    if (plan_.after.Contains(candidate) || IsPlanned(candidate) || !is_whole(candidate)) continue;
    kept_scratch_.push_back(candidate);
    --spare;
  }
}

// Whole tiles that leave, but that another holds as a tail: they cost nothing.
void RecentTiles::KeepShared() {
  for (uint32_t i = 0; i < plan_.leaving().count(); ++i) {
    const uint32_t end = (plan_.leaving().first + i + 1) * kTileTokens;
    if (end <= end_ && !tiles_[i].is_exclusive()) is_kept_[i] = 1;
  }
}

void RecentTiles::AddFresh(uint32_t tile, bool is_live) {
  entries_.push_back({.tile = tile, .ref = pool_.Allocate(), .is_live = is_live});
  WEIR_CHECK(entries_.back().ref);
}

// Entering tiles take the slots of leaving tiles that nobody else refers to, then fresh ones.
void RecentTiles::ListEntries() {
  entries_.clear();
  uint32_t leaving = 0;
  for (uint32_t tile = plan_.entering().first; tile < plan_.entering().end; ++tile) {
    while (leaving < is_kept_.size() &&
           (is_kept_[leaving] != 0 || !tiles_[leaving].is_exclusive())) {
      ++leaving;
    }
    if (leaving < is_kept_.size()) {
      entries_.push_back({.tile = tile, .ref = {}, .taken_over = leaving++, .is_live = true});
    } else {
      AddFresh(tile, true);
    }
  }
  for (const uint32_t tile : kept_scratch_) AddFresh(tile, false);
}

void RecentTiles::Open() {
  kept_.clear();
  const uint32_t free = pool_.free_count();
  if (planned_need_ > free) {  // no room for planned points: the sequence's own need comes first
    is_kept_.assign(is_kept_.size(), 0);
    kept_scratch_.clear();
  } else if (keep_interior_) {
    KeepInterior(free - planned_need_);
  }
  if (keep_interior_) KeepShared();
  ListEntries();
  if (plan_.scratch.count() > 0) scratch_.Reserve(plan_.scratch.count(), scratch_slots_);
}

TileRange RecentTiles::visible() const {
  const uint32_t end = (end_ - 1) / kTileTokens + 1;
  return {plan_.before.count() > 0 ? plan_.before.first : plan_.scratch.first, end};
}

MutablePlanes RecentTiles::PlanesOf(uint32_t layer, uint32_t tile) const {
  if (plan_.before.Contains(tile)) {
    const TileId id = tiles_[tile - plan_.before.first].id();
    return {pool_.KeyPlane(id, layer), pool_.ValuePlane(id, layer)};
  }
  const uint32_t slot = scratch_slots_[tile - plan_.scratch.first];
  return {scratch_.KeyPlane(slot), scratch_.ValuePlane(slot)};
}

TileId RecentTiles::SlotOf(const Entry& entry) const {
  return entry.taken_over == kFresh ? entry.ref.id() : tiles_[entry.taken_over].id();
}

void RecentTiles::EndLayer(uint32_t layer) {
  for (const Entry& entry : entries_) {
    const MutablePlanes from = PlanesOf(layer, entry.tile);
    const TileId to = SlotOf(entry);
    std::memcpy(pool_.KeyPlane(to, layer), from.keys, pool_.group().k_plane_bytes());
    std::memcpy(pool_.ValuePlane(to, layer), from.values, pool_.group().v_plane_bytes());
  }
}

void RecentTiles::Commit() {
  next_tiles_.clear();
  for (uint32_t tile = plan_.staying().first; tile < plan_.staying().end; ++tile) {
    next_tiles_.push_back(std::move(tiles_[tile - plan_.before.first]));
  }
  for (uint32_t i = 0; i < is_kept_.size(); ++i) {
    if (is_kept_[i] != 0) kept_.push_back({plan_.leaving().first + i, std::move(tiles_[i])});
  }
  for (Entry& entry : entries_) {
    TileRef& ref = entry.taken_over == kFresh ? entry.ref : tiles_[entry.taken_over];
    if (entry.is_live) {
      next_tiles_.push_back(std::move(ref));
    } else {
      kept_.push_back({entry.tile, std::move(ref)});
    }
  }
  tiles_.swap(next_tiles_);
  next_tiles_.clear();  // leaving tiles that nobody took over go here
  first_tile_ = plan_.after.first;
  entries_.clear();
  scratch_.Release(scratch_slots_);
}

bool RecentTiles::Abandon(bool has_ended_layers) {
  const bool took_over =
      std::ranges::any_of(entries_, [](const Entry& entry) { return entry.taken_over != kFresh; });
  entries_.clear();
  scratch_.Release(scratch_slots_);
  return has_ended_layers && took_over;
}

uint32_t RecentTiles::tile_count() const {
  const auto fresh = std::ranges::count_if(
      entries_, [](const Entry& entry) { return entry.taken_over == kFresh && entry.is_live; });
  return static_cast<uint32_t>(tiles_.size()) + static_cast<uint32_t>(fresh);
}

TileRef RecentTiles::Share(uint32_t tile) const {
  if (tile * kTileTokens < whole_from_) return {};
  if (Owns(tile)) return tiles_[tile - first_tile_].Share();
  for (const Kept& kept : kept_) {
    if (kept.tile == tile) return kept.ref.Share();
  }
  return {};
}

void RecentTiles::Repoint(uint32_t tile, const TileRef& other) {
  if (other && Owns(tile)) tiles_[tile - first_tile_] = other.Share();
}

}  // namespace weir
