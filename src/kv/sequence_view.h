// The KV of one sequence as everything above kv/ sees it: positions 0..n, one table of full tiles
// and the map full tile -> window tile or none. The full table is authoritative; window tiles hang
// on it.
//
// A chunk is computed layer by layer:
//
//   auto chunk = view.BeginChunk(tokens)      all tiles that the chunk needs, or an error and no
//   change for each layer: chunk.Write(...) rows; attend over chunk.Tiles(...); chunk.EndLayer(...)
//   view.Commit(std::move(chunk))             n grows; window tiles that no later query sees are
//   freed
//
// The window rows of a chunk live in one layer's scratch (WindowScratch); EndLayer copies the last
// W-1 of them to window tiles. Entering tiles take over the slots of leaving ones, so a sequence
// never owns more than ceil((W-1)/128)+1 window tiles, whatever the chunk.
//
// Ownership: a view holds counted references into the pools of its KvCache, which outlives it.
// Threads: engine thread; Write() of different positions may run on different compute threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/layout.h"
#include "kv/tile_pool.h"

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

// Consecutive tiles of one layer: tiles[i] covers positions [128 (first_tile + i), +128).
struct TileTable {
  uint32_t first_tile = 0;
  std::span<const TilePlanes> tiles;
};

class SequenceView;

// One step of one sequence: positions [begin, end). Movable; dropping it uncommitted gives back
// what BeginChunk took (the view's n is unchanged, window rows of the view may be lost: the caller
// drops the view too).
class KvChunk {
 public:
  KvChunk(KvChunk&&) noexcept;
  KvChunk& operator=(KvChunk&&) noexcept;
  ~KvChunk();

  [[nodiscard]] uint32_t begin() const;
  [[nodiscard]] uint32_t end() const;

  // Stores one position's rows of a layer. keys [kv_heads, k_dim], values [kv_heads, v_dim].
  void Write(KvLayer layer, uint32_t position, std::span<const float> keys,
             std::span<const float> values);

  // Every tile that a query of this chunk can see in this layer. Valid until the next call or
  // EndLayer.
  [[nodiscard]] TileTable Tiles(KvLayer layer);

  void EndLayer(KvLayer layer);

 private:
  friend class SequenceView;
  struct State;
  KvChunk();
  State* state_ = nullptr;
};

class SequenceView {
 public:
  explicit SequenceView(KvCache& cache);

  [[nodiscard]] uint32_t token_count() const;  // n
  [[nodiscard]] uint32_t full_tile_count() const;
  [[nodiscard]] uint32_t window_tile_count() const;

  // kResourceExhausted, naming pool and bytes, when tiles are missing; then nothing has changed.
  [[nodiscard]] Result<KvChunk> BeginChunk(uint32_t tokens);
  void Commit(KvChunk&& chunk);

 private:
  KvCache* cache_;
};

}  // namespace weir
