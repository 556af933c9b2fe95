// One layer's K and V planes for the rows of running chunks that have no tile of their own: those
// of the window group, and the 16-bit rows of a full group that is coded per tile.
//
// A chunk reserves slots for all its layers at once and reuses them layer after layer: so a
// 2,048-token chunk costs the planes of one layer, not window tiles of all layers.
//
// Ownership: KvCache owns one; slots are plain numbers. Threads: the engine thread; planes as those
// of a TilePool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned.h"
#include "kv/layout.h"

namespace weir {

class LayerScratch {
 public:
  LayerScratch(const KvGroup& group, uint32_t slot_count);

  [[nodiscard]] uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  [[nodiscard]] uint32_t slot_count() const { return slot_count_; }
  [[nodiscard]] uint64_t bytes() const { return slab_.bytes(); }

  // Appends `count` slots to `slots`. Requires count <= free_count().
  void Reserve(uint32_t count, std::vector<uint32_t>& slots);
  // Takes all of `slots` back and clears it.
  void Release(std::vector<uint32_t>& slots);

  [[nodiscard]] std::byte* KeyPlane(uint32_t slot) const;
  [[nodiscard]] std::byte* ValuePlane(uint32_t slot) const;

 private:
  uint64_t layer_bytes_;
  uint64_t k_plane_bytes_;
  uint32_t slot_count_;
  AlignedBytes slab_;
  std::vector<uint32_t> free_;  // stack
};

}  // namespace weir
