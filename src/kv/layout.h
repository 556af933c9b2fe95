// The shape of a model's KV: groups of layers, their tiles and the bytes these take.
//
// Pure values, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quant/kv_tile.h"

namespace weir {

// Layers that share a window and a KV shape. Window group: query i sees keys j with i-W < j <= i.
struct KvGroup {
  uint32_t layer_count = 0;
  uint32_t kv_heads = 0;
  uint32_t k_dim = 0;   // a head
  uint32_t v_dim = 0;   // a head
  uint32_t window = 0;  // W in tokens, the query's own position included; 0: full attention
  KvFormat format = KvFormat::kF16;
  // Set: tiles are coded when they are whole, into planes of `format`; full groups only.
  const TileCodec* codec = nullptr;

  // A tile record is layer-major: K plane then V plane of each layer.
  [[nodiscard]] uint64_t k_plane_bytes() const { return PlaneBytes(format, kv_heads, k_dim); }
  [[nodiscard]] uint64_t v_plane_bytes() const { return PlaneBytes(format, kv_heads, v_dim); }
  [[nodiscard]] uint64_t layer_bytes() const { return k_plane_bytes() + v_plane_bytes(); }
  [[nodiscard]] uint64_t tile_bytes() const { return layer_count * layer_bytes(); }

  // Most window tiles that one sequence can own: ceil((W-1)/128) + 1. Requires window >= 1.
  [[nodiscard]] uint32_t max_window_tiles() const;
};

struct KvLayout {
  std::optional<KvGroup> full =
      std::nullopt;  // absent only in models whose every layer has a window
  std::optional<KvGroup> window = std::nullopt;

  // Bytes that a lone sequence of `tokens` positions takes in whole tiles, by group.
  [[nodiscard]] uint64_t FullBytes(uint64_t tokens) const;
  [[nodiscard]] uint64_t WindowBytes(uint64_t tokens) const;
};

}  // namespace weir
