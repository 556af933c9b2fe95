#include "prefix/sidecar.h"

#include <algorithm>
#include <utility>

namespace weir {

bool Sidecar::IsComplete(NodeId node, uint32_t count) const {
  return VisitNeeded(node, count, [&](NodeId id) { return tiles_.Has(id); });
}

uint64_t Sidecar::KeyOf(NodeId node, uint32_t count) const {
  return nodes_[node].hash.low + count * 0x9E3779B97F4A7C15;  // an odd number near 2^64 / 1.618
}

ResumePointId Sidecar::FindPoint(NodeId node, uint32_t count) const {
  ResumePointId id = FirstOf(node);
  while (id != ResumePointId() && places_.at(id).count != count) id = places_.at(id).next;
  return id;
}

void Sidecar::AddPoint(NodeId node, uint32_t count, ResumeClass resume_class) {
  if (const ResumePointId id = FindPoint(node, count); id != ResumePointId()) {
    points_.Reclassify(id, std::max(resume_class, points_.ClassOf(id)));
    return;
  }
  if (needed_(nodes_[node].start + count).count() == 0) return;
  const ResumePointId id =
      points_.Add(KeyOf(node, count), resume_class, nodes_[node].start + count);
  if (node.value() >= first_of_node_.size()) first_of_node_.resize(size_t{node.value()} + 1);
  places_[id] = {node, count, std::exchange(first_of_node_[node.value()], id)};
  VisitNeeded(node, count, [&](NodeId needed) {
    tiles_.Cover(needed);
    return true;
  });
}

void Sidecar::Supersede(NodeId node, uint32_t count) {
  for (; node != NodeId(); node = nodes_[node].parent, count = kTileTokens) {
    for (ResumePointId id = FirstOf(node); id != ResumePointId(); id = places_.at(id).next) {
      const bool is_newest = points_.ClassOf(id) == ResumeClass::kNewest;
      if (is_newest && places_.at(id).count <= count) {
        points_.Reclassify(id, ResumeClass::kSuperseded);
      }
    }
  }
}

void Sidecar::Touch(NodeId node, uint32_t count) {
  const ResumePointId id = FindPoint(node, count);
  if (id != ResumePointId()) points_.Touch(id);
  VisitNeeded(node, count, [&](NodeId needed) {
    tiles_.Refresh(needed);
    return true;
  });
}

void Sidecar::NoteMiss(NodeId node, uint32_t count) {
  if (!IsComplete(node, count)) points_.NoteMiss(KeyOf(node, count));
}

// Its tiles become interior from the first to the deepest, which is then the first to go: when only
// some must, what is left may still serve a position one tile earlier.
void Sidecar::Detach(ResumePointId id) {
  const Place place = places_.at(id);
  ResumePointId* link = &first_of_node_[place.node.value()];
  while (*link != id) link = &places_.at(*link).next;
  *link = place.next;
  places_.erase(id);
  std::vector<NodeId> needed;
  VisitNeeded(place.node, place.count, [&](NodeId node) {
    needed.push_back(node);
    return true;
  });
  std::for_each(needed.rbegin(), needed.rend(), [&](NodeId node) { tiles_.Uncover(node); });
}

void Sidecar::Forget(NodeId node) {
  while (FirstOf(node) != ResumePointId()) RemovePoint(FirstOf(node));
  tiles_.Drop(node);
}

void Sidecar::DropTile(TileId tile, std::vector<NodeId>& bared) {
  if (!tiles_.Keeps(tile)) return;
  std::vector<ResumePointId> needing;
  for (const auto& [id, place] : places_) {
    const bool needs = !VisitNeeded(place.node, place.count,
                                    [&](NodeId needed) { return tiles_.TileOf(needed) != tile; });
    if (needs) needing.push_back(id);
  }
  for (const ResumePointId id : needing) RemovePoint(id);
  tiles_.Evict(tile, bared);
}

void Sidecar::MovePoints(NodeId from, NodeId to) {
  for (ResumePointId id = FirstOf(from); id != ResumePointId(); id = FirstOf(from)) {
    AddPoint(to, places_.at(id).count, points_.ClassOf(id));
    RemovePoint(id);
  }
}

bool Sidecar::FreesTiles(ResumePointId id) const {
  const Place& place = places_.at(id);
  return !VisitNeeded(place.node, place.count, [&](NodeId node) { return tiles_.IsInUse(node); });
}

bool Sidecar::EvictPoint() {
  ResumePointId id = points_.Coldest();
  while (id != ResumePointId() && !FreesTiles(id)) id = points_.NextColdest(id);
  if (id == ResumePointId()) return false;
  Detach(id);
  points_.Evict(id);
  return true;
}

bool Sidecar::EvictTile(std::vector<NodeId>& bared) {
  TileId tile = tiles_.ColdestInterior();
  while (tile == TileId()) {
    if (!EvictPoint()) return false;
    tile = tiles_.ColdestInterior();
  }
  tiles_.Evict(tile, bared);
  return true;
}

}  // namespace weir
