#include "prefix/sidecar.h"

#include <algorithm>
#include <utility>

namespace weir {

bool Sidecar::IsComplete(NodeId node, uint32_t count) const {
  return VisitNeeded(node, count, [&](NodeId id) { return tiles_.Has(id); });
}

// The same for a tail and for what continues it.
uint64_t Sidecar::KeyOf(NodeId node, uint32_t count) const {
  if (count == nodes_[node].token_count) return nodes_[node].hash.low;
  return hasher_.Child(nodes_[nodes_[node].parent].hash, nodes_.TokensOf(node).first(count)).low;
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

void Sidecar::AddGhost(NodeId node, uint32_t count, ResumeClass resume_class) {
  const uint32_t position = nodes_[node].start + count;
  if (FindPoint(node, count) != ResumePointId() || needed_(position).count() == 0) return;
  points_.Evict(points_.Add(KeyOf(node, count), resume_class, position));
  Remember(node, count);
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

void Sidecar::FindGhosts(const ChainHash& before, std::span<const TokenId> tokens, uint32_t passed,
                         uint32_t likely, std::vector<GhostPlaces::Place>& ghosts) const {
  const auto found = static_cast<std::ptrdiff_t>(ghosts.size());
  if (likely > passed && likely <= tokens.size()) {
    const uint64_t key = hasher_.Child(before, tokens.first(likely)).low;
    ghosts.push_back({.tile = before.low, .key = key, .count = likely});
  }
  for (const GhostPlaces::Place& place : ghosts_.Near(before.low)) {
    const bool is_on_the_way = place.tile == before.low && place.count > passed &&
                               place.count <= tokens.size() &&
                               place.key == hasher_.Child(before, tokens.first(place.count)).low;
    if (is_on_the_way) ghosts.push_back(place);
  }
  std::ranges::sort(ghosts.begin() + found, ghosts.end(), {}, &GhostPlaces::Place::count);
}

std::optional<ResumeClass> Sidecar::NoteMiss(std::span<const GhostPlaces::Place> ghosts) {
  std::optional<ResumeClass> resume_class;
  for (size_t i = ghosts.size(); i > 0 && !resume_class; --i) {
    resume_class = points_.NoteMiss(ghosts[i - 1].key);
  }
  return resume_class;
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
  while (FirstOf(node) != ResumePointId()) EvictPoint(FirstOf(node));
  tiles_.Drop(node);
}

void Sidecar::DropTile(TileId tile, std::vector<NodeId>& bared) {
  if (!tiles_.Keeps(tile)) return;
  for (const ResumePointId id : PointsThatNeed(tile)) {
    bared.push_back(places_.at(id).node);  // below those that lose the tile
    EvictPoint(id);
  }
  tiles_.Evict(tile, bared);
}

// They lie in its nodes, or below these within the window.
std::vector<ResumePointId> Sidecar::PointsThatNeed(TileId tile) const {
  std::vector<ResumePointId> points;
  std::vector<NodeId> nodes = tiles_.HoldersOf(tile);
  const uint32_t index = nodes_[nodes.front()].start / kTileTokens;
  while (!nodes.empty()) {
    const NodeId node = nodes.back();
    nodes.pop_back();
    if (!needed_(nodes_[node].start + 1).Contains(index)) continue;
    for (ResumePointId id = FirstOf(node); id != ResumePointId(); id = places_.at(id).next) {
      if (needed_(nodes_[node].start + places_.at(id).count).Contains(index)) points.push_back(id);
    }
    nodes.insert(nodes.end(), nodes_[node].children.begin(), nodes_[node].children.end());
  }
  return points;
}

void Sidecar::DropUnlessWorth(TileId tile, double worth, std::vector<NodeId>& bared) {
  if (!tiles_.Keeps(tile)) return;
  double its = -1;
  for (const ResumePointId id : PointsThatNeed(tile)) its = std::max(its, points_.WorthOf(id));
  if (its < worth && ColdestThatFrees(its) == ResumePointId()) DropTile(tile, bared);
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

void Sidecar::Remember(NodeId node, uint32_t count) {
  const ChainHash& before = nodes_[nodes_[node].parent].hash;
  ghosts_.Add({.tile = before.low, .key = KeyOf(node, count), .count = count});
}

void Sidecar::EvictPoint(ResumePointId id) {
  const Place& place = places_.at(id);
  Remember(place.node, place.count);
  Detach(id);
  points_.Evict(id);
}

double Sidecar::WorthAt(NodeId node) const {
  double worth = -1;
  for (ResumePointId id = FirstOf(node); id != ResumePointId(); id = places_.at(id).next) {
    worth = std::max(worth, points_.WorthOf(id));
  }
  return worth;
}

// Of those worth less than `worth`.
ResumePointId Sidecar::ColdestThatFrees(double worth) const {
  ResumePointId id = points_.Coldest();
  while (id != ResumePointId() && points_.WorthOf(id) < worth) {
    if (FreesTiles(id)) return id;
    id = points_.NextColdest(id);
  }
  return {};
}

bool Sidecar::EvictColdest(double worth) {
  const ResumePointId id = ColdestThatFrees(worth);
  if (id == ResumePointId()) return false;
  EvictPoint(id);
  return true;
}

bool Sidecar::EvictTile(double worth, std::vector<NodeId>& bared) {
  TileId tile = tiles_.ColdestInterior();
  while (tile == TileId()) {
    if (!EvictColdest(worth)) return false;
    tile = tiles_.ColdestInterior();
  }
  tiles_.Evict(tile, bared);
  return true;
}

}  // namespace weir
