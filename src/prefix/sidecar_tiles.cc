#include "prefix/sidecar_tiles.h"

#include "base/check.h"

namespace weir {

TileRef SidecarTiles::Share(NodeId node) const {
  return kept_[TileOf(node).value()].tile.Share();  // slot 0 is empty
}

std::vector<NodeId> SidecarTiles::HoldersOf(TileId tile) const {
  std::vector<NodeId> holders;
  for (NodeId node = kept_[tile.value()].first_holder; node != NodeId();
       node = slots_[node.value()].next_holder) {
    holders.push_back(node);
  }
  return holders;
}

bool SidecarTiles::IsInUse(NodeId node) const {
  return Has(node) && pool_.reference_count(TileOf(node)) > 1;
}

bool SidecarTiles::IsLentOnce(NodeId node) const {
  if (!Has(node)) return true;
  const bool has_others = kept_[TileOf(node).value()].first_holder != node ||
                          slots_[node.value()].next_holder != NodeId();
  return !has_others && pool_.reference_count(TileOf(node)) == 2;
}

void SidecarTiles::Put(NodeId node, const TileRef& tile) {
  WEIR_CHECK(tile && !Has(node));
  if (node.value() >= slots_.size()) slots_.resize(size_t{node.value()} + 1);
  Kept& kept = kept_[tile.id().value()];
  if (!kept.tile) {
    kept.tile = tile.Share();
    interior_.AddWarmest(tile.id());
  }
  slots_[node.value()] = {tile.id(), kept.first_holder};
  kept.first_holder = node;
  ++node_count_;
}

void SidecarTiles::Unlink(NodeId node) {
  NodeId* link = &KeptOf(node).first_holder;
  while (*link != node) link = &slots_[link->value()].next_holder;
  *link = slots_[node.value()].next_holder;
  slots_[node.value()] = {};
  --node_count_;
}

void SidecarTiles::Drop(NodeId node) {
  if (!Has(node)) return;
  const TileId tile = TileOf(node);
  Unlink(node);
  Kept& kept = kept_[tile.value()];
  if (kept.first_holder != NodeId()) return;
  WEIR_CHECK(kept.cover == 0);
  interior_.Remove(tile);
  kept.tile = TileRef();
}

void SidecarTiles::Cover(NodeId node) {
  WEIR_CHECK(Has(node));
  if (KeptOf(node).cover++ == 0) interior_.Remove(TileOf(node));
}

void SidecarTiles::Uncover(NodeId node) {
  WEIR_CHECK(Has(node) && KeptOf(node).cover > 0);
  if (--KeptOf(node).cover == 0) interior_.AddColdest(TileOf(node));
}

void SidecarTiles::Refresh(NodeId node) {
  if (Has(node) && KeptOf(node).cover == 0) interior_.MakeWarmest(TileOf(node));
}

TileId SidecarTiles::ColdestInterior() const {
  TileId tile = interior_.coldest();
  while (tile != TileId() && !kept_[tile.value()].tile.is_exclusive())
    tile = interior_.Warmer(tile);
  return tile;
}

void SidecarTiles::Evict(TileId tile, std::vector<NodeId>& bared) {
  Kept& kept = kept_[tile.value()];
  WEIR_CHECK(kept.tile && kept.cover == 0);
  while (kept.first_holder != NodeId()) {
    bared.push_back(kept.first_holder);
    Drop(kept.first_holder);
  }
}

}  // namespace weir
