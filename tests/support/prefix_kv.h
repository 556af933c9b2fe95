// KV pools of a few tiny tiles for tests of the prefix trie: one layer, one head, one dimension.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kv/kv_cache.h"
#include "kv/prefix_tiles.h"

namespace weir::test {

struct PrefixKvShape {
  uint32_t full_tiles = 40;  // 0: a model without a full group
  uint32_t window_tiles = 40;
  uint32_t window = 200;                            // 0: a model without a window group
  std::optional<uint32_t> residual = std::nullopt;  // set: the full group is coded per tile
  uint32_t owed_tiles = 40;
  uint32_t max_chunk_tokens = 128;
};

class PrefixKv {
 public:
  explicit PrefixKv(const PrefixKvShape& shape)
      : codec_(Codec(shape)),
        cache_(Layout(shape, codec_), Budget(shape), shape.max_chunk_tokens) {}

  [[nodiscard]] KvCache& cache() { return cache_; }

  // Tiles for one node; of each pool that exists and has a tile left.
  [[nodiscard]] NodeTiles Allocate() {
    NodeTiles tiles;
    if (cache_.full_pool() != nullptr) tiles.full = cache_.full_pool()->Allocate();
    if (cache_.window_pool() != nullptr) tiles.window = cache_.window_pool()->Allocate();
    if (cache_.owed_pool() != nullptr) tiles.owed = cache_.owed_pool()->Allocate();
    return tiles;
  }

 private:
  static constexpr uint64_t kTileBytes = 512;  // 128 tokens, K and V, 2 bytes each

  static TileCodec Codec(const PrefixKvShape& shape) {
    TileCodec codec;
    codec.name = "test";
    codec.residual_tiles = shape.residual.value_or(0);
    return codec;
  }

  static KvLayout Layout(const PrefixKvShape& shape, const TileCodec& codec) {
    KvLayout layout;
    const KvGroup group{.layer_count = 1, .kv_heads = 1, .k_dim = 1, .v_dim = 1};
    if (shape.full_tiles > 0) layout.full = group;
    if (shape.residual) layout.full->codec = &codec;
    if (shape.window > 0) layout.window = group;
    if (shape.window > 0) layout.window->window = shape.window;
    return layout;
  }

  static KvBudget Budget(const PrefixKvShape& shape) {
    return {.full_bytes = shape.full_tiles * kTileBytes,
            .window_bytes = shape.window_tiles * kTileBytes,
            .owed_bytes = shape.owed_tiles * kTileBytes};
  }

  TileCodec codec_;
  KvCache cache_;
};

}  // namespace weir::test
