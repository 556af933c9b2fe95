// What a SequenceView owns, and the bookkeeping of its open chunk. Private to kv/.
//
// Invariant between chunks: full tiles cover [0, n) and, after Adopt, all that was adopted; recent
// tiles are those of their rule at n. Buffers are kept between chunks: no allocation on the token
// path.
//
// Threads: as sequence_view.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/recent_tiles.h"
#include "kv/sequence_view.h"

namespace weir {

class SequenceState {
 public:
  explicit SequenceState(KvCache& cache);
  ~SequenceState();

  [[nodiscard]] uint32_t token_count() const { return begin_; }
  [[nodiscard]] uint32_t chunk_end() const { return end_; }
  [[nodiscard]] uint32_t full_tile_count() const { return static_cast<uint32_t>(full_.size()); }
  [[nodiscard]] uint32_t window_tile_count() const { return window_ ? window_->tile_count() : 0; }
  [[nodiscard]] uint32_t owed_tile_count() const { return owed_ ? owed_->tile_count() : 0; }

  [[nodiscard]] TileId FullTile(uint32_t index) const { return full_[index].id(); }

  [[nodiscard]] static TileNeed AdoptNeed(const PrefixTiles& prefix,
                                          const std::optional<ReplaySpan>& replay);
  Result<void> Adopt(PrefixTiles&& prefix, const std::optional<ReplaySpan>& replay);
  [[nodiscard]] TileNeed NeedFor(uint32_t tokens, const RetainPlan& retain);
  Result<void> Begin(uint32_t tokens, const RetainPlan& retain);
  void Write(KvLayer layer, uint32_t position, std::span<const float> keys,
             std::span<const float> values);
  [[nodiscard]] RowPlanes RowsOf(KvLayer layer, uint32_t tile) const;
  TileTable Tiles(KvLayer layer);
  void EndLayer(KvLayer layer);
  void Commit();
  void Abandon();

  [[nodiscard]] NodeTiles TilesAt(uint32_t tile) const;
  [[nodiscard]] std::vector<NodeTiles> LeavingTiles() const;
  void ReleaseKept();
  [[nodiscard]] bool HasRecentTile(uint32_t tile) const;
  void Repoint(uint32_t tile, const NodeTiles& tiles);

 private:
  [[nodiscard]] const KvGroup& GroupOf(KvLayer layer) const;
  [[nodiscard]] MutablePlanes FullPlanes(uint32_t layer, uint32_t tile) const;
  [[nodiscard]] uint32_t NewFullTiles(uint32_t end) const;
  void PlanRecent(uint32_t end, const RetainPlan& retain);
  void CodeWholeTiles(uint32_t layer);
  void CloseChunk();

  KvCache& cache_;
  uint32_t begin_ = 0;         // n; first position of the open chunk
  uint32_t end_ = 0;           // end of the open chunk
  uint32_t full_written_ = 0;  // full rows before it are another sequence's: read, never written
  std::vector<TileRef> full_;  // by tile; an open chunk's new tiles at the back
  std::optional<RecentTiles> window_;
  std::optional<RecentTiles> owed_;

  bool open_ = false;
  bool recent_rows_lost_ = false;  // an abandoned chunk had overwritten leaving tiles
  uint32_t full_count_before_ = 0;
  uint32_t full_layers_ended_ = 0;
  uint32_t window_layers_ended_ = 0;
  std::vector<TilePlanes> table_;       // what Tiles() returned last
  std::vector<TilePlanes> owed_table_;  // likewise
};

}  // namespace weir
