// The shape of a model's KV, as far as the library needs to know it: groups of layers and bytes.
//
// Rows are opaque. A row is what one layer keeps of one token: so many key bytes and so many value
// bytes, all heads together. Rows of one tile and layer lie in two planes of 128 rows, one after
// the other or as the engine's kernels like it (dimension-major keys, say), on two conditions:
// writing a row changes no byte of another, and a row is final once written. So formats whose
// scales belong to a whole tile (KIVI and the like) are not supported.
//
// Pure values.
#pragma once

#include <cstdint>
#include <optional>

namespace weir::kv {

// Positions of one tile: the unit of allocation, matching and eviction.
inline constexpr uint32_t kTileTokens = 128;

// Layers that share a window and a row size.
struct LayerGroup {
  uint32_t layer_count = 0;  // at most 2^16
  uint32_t key_bytes = 0;    // of one token in one layer; at most 2^24
  uint32_t value_bytes = 0;  // likewise; 0 for models that keep one row for both (latent attention)
  uint32_t window = 0;       // W; 0 in a full group, which sees everything; at most 2^30

  [[nodiscard]] uint64_t key_plane_bytes() const { return uint64_t{kTileTokens} * key_bytes; }
  [[nodiscard]] uint64_t value_plane_bytes() const { return uint64_t{kTileTokens} * value_bytes; }
  [[nodiscard]] uint64_t tile_bytes() const {
    return layer_count * (key_plane_bytes() + value_plane_bytes());
  }
};

// One group or both. Query i of the window group sees keys j with i-W < j <= i: W keys, its own
// included. Where windows differ between layers, W is the widest; the engine masks for the others.
struct Layout {
  std::optional<LayerGroup> full = std::nullopt;
  std::optional<LayerGroup> window = std::nullopt;
};

enum class Group : uint8_t { kFull, kWindow };

// A layer's place: its group and its index there.
struct Layer {
  Group group = Group::kFull;
  uint32_t index = 0;
};

}  // namespace weir::kv
