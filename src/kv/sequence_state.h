// What a SequenceView owns, and the bookkeeping of its open chunk. Private to kv/.
//
// Invariant between chunks: full tiles cover [0, n); window tiles are those of
// LiveWindowTiles(W, n). Buffers are kept between chunks: no allocation on the token path.
//
// Threads: as sequence_view.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "kv/window_plan.h"

namespace weir {

class SequenceState {
 public:
  explicit SequenceState(KvCache& cache) : cache_(cache) {}
  ~SequenceState();

  [[nodiscard]] uint32_t token_count() const { return begin_; }
  [[nodiscard]] uint32_t chunk_end() const { return end_; }
  [[nodiscard]] uint32_t full_tile_count() const { return static_cast<uint32_t>(full_.size()); }
  [[nodiscard]] uint32_t window_tile_count() const {
    return static_cast<uint32_t>(window_.size() + fresh_.size());
  }

  Result<void> Begin(uint32_t tokens);
  void Write(KvLayer layer, uint32_t position, std::span<const float> keys,
             std::span<const float> values);
  TileTable Tiles(KvLayer layer);
  void EndLayer(KvLayer layer);
  void Commit();
  void Abandon();

 private:
  struct MutablePlanes {
    std::byte* keys;
    std::byte* values;
  };
  // Where an entering tile's rows go: the slot of window_[leaving_index], or of a fresh tile.
  struct Entry {
    TileId id;
    bool takes_over = false;
    uint32_t index = 0;  // in window_ if takes_over, else in fresh_
  };

  [[nodiscard]] const KvGroup& GroupOf(KvLayer layer) const;
  [[nodiscard]] MutablePlanes PlanesOf(KvLayer layer, uint32_t tile) const;
  [[nodiscard]] Result<void> CheckRoom(uint32_t full_tiles, uint32_t window_tiles) const;
  void PlanEntries();
  void CloseChunk();

  KvCache& cache_;
  uint32_t begin_ = 0;           // n; first position of the open chunk
  uint32_t end_ = 0;             // end of the open chunk
  std::vector<TileRef> full_;    // by tile; an open chunk's new tiles at the back
  std::vector<TileRef> window_;  // live at n; an open chunk changes it only in Commit

  bool open_ = false;
  bool window_rows_lost_ = false;  // an abandoned chunk had overwritten leaving tiles
  uint32_t full_count_before_ = 0;
  uint32_t window_layers_ended_ = 0;
  WindowPlan plan_;
  std::vector<uint32_t> scratch_slots_;  // of plan_.scratch
  std::vector<TileRef> fresh_;
  std::vector<Entry> entries_;        // of plan_.entering()
  std::vector<TileRef> next_window_;  // buffer of Commit
  std::vector<TilePlanes> table_;     // what Tiles() returned last
};

}  // namespace weir
