#include "kv/layout.h"

#include <algorithm>

namespace weir {
namespace {

uint64_t TilesOf(uint64_t tokens) { return (tokens + kTileTokens - 1) / kTileTokens; }

}  // namespace

uint32_t KvGroup::max_window_tiles() const {
  return static_cast<uint32_t>((uint64_t{window} + kTileTokens - 2) / kTileTokens) + 1;
}

uint64_t KvLayout::FullBytes(uint64_t tokens) const {
  return full ? TilesOf(tokens) * full->tile_bytes() : 0;
}

uint64_t KvLayout::WindowBytes(uint64_t tokens) const {
  if (!window) return 0;
  return std::min<uint64_t>(TilesOf(tokens), window->max_window_tiles()) * window->tile_bytes();
}

}  // namespace weir
