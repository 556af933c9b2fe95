// The tiles of one sequence that only its newest positions need: its window tiles, or the 16-bit
// rows that a per-tile-coded full group owes. Private to kv/.
//
// Between chunks: the tiles of RecentRule::Live(n, origin), and until the next chunk those that the
// last chunk kept for others. Inside a chunk: rows of tiles that were not live at its begin lie in
// one layer's scratch; EndLayer copies those that stay to slots. Entering tiles take over the slots
// of leaving ones, so the sequence owns no more than the rule says, whatever the chunk.
//
// Ownership: counted references into one pool; borrows pool and scratch. Threads: the engine
// thread; planes as those of a TilePool. Buffers stay: no allocation on the token path.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/layer_scratch.h"
#include "kv/retain_plan.h"
#include "kv/tile_pool.h"
#include "kv/window_plan.h"

namespace weir {

struct MutablePlanes {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
};

class RecentTiles {
 public:
  RecentTiles(std::string_view name, TilePool& pool, LayerScratch& scratch, const RecentRule& rule);

  [[nodiscard]] TileRange LiveAt(uint32_t position) const { return rule_.Live(position, origin_); }
  // Starts at `position` with the tiles of Live(position): tiles[i] is that of the i-th.
  void Adopt(uint32_t position, std::vector<TileRef> tiles);
  // Starts with nothing: rows before `origin` do not exist, and those before `whole_from` will not
  // be fit for others.
  void Restart(uint32_t origin, uint32_t whole_from);

  // Lays out a chunk. Then, still changing nothing: fresh slots that it takes with all planned
  // resume points, and whether there is room for what it cannot do without.
  void Plan(uint32_t begin, uint32_t end, const RetainPlan& retain);
  [[nodiscard]] uint32_t planned_need() const { return planned_need_; }
  [[nodiscard]] Result<void> CheckRoom() const;
  // One more reference to each tile that leaves with that chunk, is not kept for others, and of
  // which there is one reference elsewhere: without that its slot would be taken over.
  [[nodiscard]] std::vector<TileRef> ShareLeaving() const;

  void Open();
  [[nodiscard]] TileRange visible() const;  // tiles that a query of the chunk may see
  [[nodiscard]] MutablePlanes PlanesOf(uint32_t layer, uint32_t tile) const;
  void EndLayer(uint32_t layer);
  void Commit();
  // True: rows of older positions are lost, because entering tiles had taken over their slots.
  [[nodiscard]] bool Abandon(bool has_ended_layers);

  [[nodiscard]] uint32_t origin() const { return origin_; }
  [[nodiscard]] uint32_t tile_count() const;      // owned now, an open chunk's included
  [[nodiscard]] bool Owns(uint32_t tile) const {  // live between chunks
    return tile >= first_tile_ && tile - first_tile_ < tiles_.size();
  }
  // The tile if it is live or was kept by the last chunk, and fit for others; else empty.
  [[nodiscard]] TileRef Share(uint32_t tile) const;
  void ReleaseKept() { kept_.clear(); }
  // Refers to `other` instead of the own tile of the same content, if that is owned.
  void Repoint(uint32_t tile, const TileRef& other);

 private:
  // A tile with rows in scratch that gets a slot: a fresh one, or that of a leaving tile.
  struct Entry {
    uint32_t tile = 0;
    TileRef ref;                   // empty if taken over
    uint32_t taken_over = kFresh;  // index in tiles_
    bool is_live = false;          // at the chunk's end; else kept for others
  };
  struct Kept {
    uint32_t tile = 0;
    TileRef ref;
  };
  static constexpr uint32_t kFresh = UINT32_MAX;

  [[nodiscard]] bool IsPlanned(uint32_t tile) const;
  [[nodiscard]] uint32_t LeavingSlots() const;  // of leaving tiles that may be taken over
  void KeepInterior(uint32_t spare);
  void KeepShared();
  void AddFresh(uint32_t tile, bool is_live);
  void ListEntries();
  [[nodiscard]] TileId SlotOf(const Entry& entry) const;

  std::string_view name_;
  TilePool& pool_;
  LayerScratch& scratch_;
  RecentRule rule_;
  uint32_t origin_ = 0;
  uint32_t whole_from_ = 0;
  std::vector<TileRef> tiles_;  // live between chunks
  uint32_t first_tile_ = 0;     // of tiles_
  std::vector<Kept> kept_;

  // The chunk being planned or open.
  WindowPlan plan_;
  uint32_t end_ = 0;
  bool keep_interior_ = false;
  std::vector<TileRange> planned_;      // tiles of the planned resume points
  uint32_t needed_ = 0;                 // fresh slots it cannot do without
  uint32_t planned_need_ = 0;           // with the planned resume points
  std::vector<uint8_t> is_kept_;        // by index in plan_.leaving(): not to be taken over
  std::vector<uint32_t> kept_scratch_;  // tiles in scratch to keep, besides entering ones
  std::vector<Entry> entries_;
  std::vector<uint32_t> scratch_slots_;
  std::vector<TileRef> next_tiles_;
};

}  // namespace weir
