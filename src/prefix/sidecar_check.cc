// Everything that must hold of a sidecar, recomputed from its nodes' tiles and its points.
#include <vector>

#include "base/check.h"
#include "prefix/sidecar.h"

namespace weir {

void SidecarTiles::CheckInvariants(std::span<const uint32_t> cover) const {
  uint64_t nodes = 0;
  uint64_t interior = 0;
  for (uint32_t tile = 1; tile < kept_.size(); ++tile) {
    const Kept& kept = kept_[tile];
    WEIR_CHECK(kept.cover == cover[tile]);
    WEIR_CHECK(static_cast<bool>(kept.tile) == (kept.first_holder != NodeId()));
    if (!kept.tile) continue;
    WEIR_CHECK(kept.tile.id() == TileId(tile) && pool_.reference_count(TileId(tile)) > 0);
    for (NodeId node = kept.first_holder; node != NodeId();
         node = slots_[node.value()].next_holder) {
      WEIR_CHECK(TileOf(node) == TileId(tile));
      ++nodes;
    }
    interior += kept.cover == 0 ? 1 : 0;
  }
  WEIR_CHECK(nodes == node_count_ && interior == interior_.count());
  for (TileId tile = interior_.coldest(); tile != TileId(); tile = interior_.Warmer(tile)) {
    WEIR_CHECK(kept_[tile.value()].tile && kept_[tile.value()].cover == 0);
  }
}

void Sidecar::CheckInvariants() const {
  std::vector<uint32_t> cover(tiles_.pool().tile_count() + 1, 0);
  size_t linked = 0;
  for (uint32_t value = 1; value < first_of_node_.size(); ++value) {
    const NodeId node(value);
    for (ResumePointId id = FirstOf(node); id != ResumePointId(); id = places_.at(id).next) {
      const Place& place = places_.at(id);
      WEIR_CHECK(nodes_[node].is_live() && place.node == node);
      WEIR_CHECK(FindPoint(node, place.count) == id);
      const bool complete = VisitNeeded(node, place.count, [&](NodeId needed) {
        ++cover[tiles_.TileOf(needed).value()];
        return tiles_.Has(needed);
      });
      WEIR_CHECK(complete);
      ++linked;
    }
  }
  WEIR_CHECK(linked == places_.size() && linked == points_.count());
  tiles_.CheckInvariants(cover);
}

}  // namespace weir
