// The KV of one sequence as everything above kv/ sees it: positions 0..n, one table of full tiles
// and the map full tile -> window tile or none. The full table is authoritative; window tiles hang
// on it.
//
// A chunk is computed layer by layer:
//
//   auto chunk = view.BeginChunk(tokens);  // takes all tiles that it needs, or changes nothing
//   for each layer {
//     chunk.Write(...); ... attend over chunk.Tiles(...) ...; chunk.EndLayer(...);
//   }
//   view.Commit(std::move(chunk));  // n grows; window tiles that no later query sees go
//
// Window rows of a chunk that reach beyond the tiles the view has live in one layer's scratch
// (window_scratch.h); EndLayer copies what stays visible to window tiles. Entering tiles take over
// the slots of leaving ones (window_plan.h), so a sequence never owns more than
// ceil((W-1)/128)+1 window tiles, whatever the chunk.
//
// A sequence may adopt the tiles of another's prefix (Adopt), and lends its own whole tiles and
// tails to the prefix trie (TilesAt). Bytes below the adopted position are never written; rows of a
// tile that others refer to are only ever added behind theirs.
//
// Ownership: a view holds counted references into the pools of its KvCache, which outlives it; a
// view outlives its chunk. Threads: engine thread; Write() of different positions may run on
// different compute threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/prefix_tiles.h"
#include "kv/retain_plan.h"

namespace weir {

enum class KvGroupKind : uint8_t { kFull, kWindow };

// A layer's place in the KV: its group and its index there.
struct KvLayer {
  KvGroupKind group = KvGroupKind::kFull;
  uint32_t index = 0;
};

// K and V planes of one tile of one layer.
struct TilePlanes {
  const std::byte* keys = nullptr;
  const std::byte* values = nullptr;
};

// Consecutive tiles of one layer: tiles[i] covers positions [128 (first_tile + i), +128). Rows that
// were never written hold arbitrary bytes.
struct TileTable {
  KvFormat format = KvFormat::kF16;
  uint32_t first_tile = 0;
  std::span<const TilePlanes> tiles = {};
  uint32_t first_position = 0;  // rows before it do not exist

  // Of a full group that is coded per tile: 16-bit rows (kF16's layout) of the newest tiles. A
  // query in tile j reads tiles j - residual_tiles .. j from here, if they are, and codes of those
  // before.
  uint32_t residual_tiles = 0;
  uint32_t first_owed_tile = 0;
  std::span<const TilePlanes> owed = {};

  [[nodiscard]] bool IsOwed(uint32_t tile, uint32_t query_tile) const {
    return !owed.empty() && tile >= first_owed_tile && tile + residual_tiles >= query_tile;
  }
  [[nodiscard]] const TilePlanes& PlanesFor(uint32_t tile, uint32_t query_tile) const {
    return IsOwed(tile, query_tile) ? owed[tile - first_owed_tile] : tiles[tile - first_tile];
  }
};

// Where the chunk's rows of one tile of a layer go: planes, and positions [begin, end) that are the
// chunk's to write. Null and empty when the chunk has no row to write there: a replay's full rows
// are in place.
struct RowPlanes {
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;
};

class SequenceState;

// One step of one sequence: positions [begin, end). Movable; dropping it uncommitted gives back
// what BeginChunk took and leaves n as it was. If it had ended a window layer by then, older window
// rows may be overwritten: the caller drops the view too (BeginChunk checks it).
class KvChunk {
 public:
  KvChunk(KvChunk&& other) noexcept;
  KvChunk& operator=(KvChunk&& other) noexcept;
  ~KvChunk();

  [[nodiscard]] uint32_t begin() const;
  [[nodiscard]] uint32_t end() const;

  // Stores one position's rows of a layer. keys [kv_heads, k_dim], values [kv_heads, v_dim].
  void Write(KvLayer layer, uint32_t position, std::span<const float> keys,
             std::span<const float> values);

  // The same for a caller that lays out its rows itself (KvFormat::kOpaque). It changes no byte but
  // those of the rows it is given. Requires a tile that holds a position of the chunk, and no
  // format that is coded per tile.
  [[nodiscard]] RowPlanes RowsOf(KvLayer layer, uint32_t tile) const;

  // Every tile that a query of this chunk can see in this layer. Valid until the next call or
  // EndLayer.
  [[nodiscard]] TileTable Tiles(KvLayer layer);

  // No query reads the layer any more. Once for each layer, in any order.
  void EndLayer(KvLayer layer);

 private:
  friend class SequenceView;
  explicit KvChunk(SequenceState* state) : state_(state) {}
  SequenceState* state_;  // null when moved from
};

class SequenceView {
 public:
  explicit SequenceView(KvCache& cache);
  SequenceView(SequenceView&&) noexcept;  // also while a chunk is open
  SequenceView& operator=(SequenceView&&) noexcept;
  ~SequenceView();

  [[nodiscard]] uint32_t token_count() const;        // n
  [[nodiscard]] uint32_t full_tile_count() const;    // owned, an open chunk's included
  [[nodiscard]] uint32_t window_tile_count() const;  // likewise
  [[nodiscard]] uint32_t owed_tile_count() const;    // likewise
  [[nodiscard]] TileId FullTile(uint32_t index) const;

  // Starts an empty view with another sequence's tiles: n = prefix.position, or with `replay` n =
  // replay->begin: then the chunks up to prefix.position rebuild window and owed rows, read the
  // adopted full rows and write none. A position inside a tile that others have too costs AdoptNeed
  // free tiles for a copy; kResourceExhausted without them (the view then takes no chunk).
  [[nodiscard]] static TileNeed AdoptNeed(const PrefixTiles& prefix,
                                          const std::optional<ReplaySpan>& replay = std::nullopt);
  [[nodiscard]] Result<void> Adopt(PrefixTiles&& prefix,
                                   const std::optional<ReplaySpan>& replay = std::nullopt);

  // Tiles that BeginChunk(tokens, retain) takes with all that `retain` plans.
  [[nodiscard]] TileNeed NeedFor(uint32_t tokens, const RetainPlan& retain);

  // Positions [n, n + tokens). kResourceExhausted, naming pool and bytes, when tiles are missing;
  // then nothing has changed. Requires 1 <= tokens <= max_chunk_tokens() and no open chunk.
  // Planned resume points, and interior tiles after them, are kept only as far as slots are free.
  [[nodiscard]] Result<KvChunk> BeginChunk(uint32_t tokens, const RetainPlan& retain = {});

  // Requires this view's chunk, with every window layer ended.
  void Commit(KvChunk&& chunk);

  // References to what the view has of a tile with rows below n, for the prefix trie. The window
  // and owed tile is empty where it is gone, or holds rows that a replay did not make whole. Kept
  // tiles are there until the next BeginChunk.
  [[nodiscard]] NodeTiles TilesAt(uint32_t tile) const;
  // Tiles that leave with the chunk last asked for (NeedFor), and that one other refers to. The
  // chunk takes over their slots if that one lets go.
  [[nodiscard]] std::vector<NodeTiles> LeavingTiles() const;
  // Lets go of the kept tiles: who wants them has taken them. Only then can the trie free them.
  void ReleaseKept();
  // True if the view holds the window or owed tile at this place for its own queries.
  [[nodiscard]] bool HasRecentTile(uint32_t tile) const;
  // Refers to these tiles, which have the same content, instead of the own ones of a whole tile.
  void Repoint(uint32_t tile, const NodeTiles& tiles);

 private:
  std::unique_ptr<SequenceState> state_;
};

}  // namespace weir
