// Window tiles (or owed tiles) of nodes with the resume points that keep them.
//
// A resume point at `count` tokens into a node needs the tiles that decoding from there reads: the
// node's and those of some ancestors. What no point needs goes first, then the points do, in
// ResumePoints' order; each leaves no more tiles free than were asked for. Window and owed rows are
// two of these, apart: a lack of one costs nothing of the other.
//
// Ownership: as SidecarTiles; borrows the node table. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "kv/window_plan.h"
#include "prefix/chain_hash.h"
#include "prefix/ghost_places.h"
#include "prefix/node_table.h"
#include "prefix/resume_points.h"
#include "prefix/sidecar_tiles.h"

namespace weir {

class Sidecar {
 public:
  // Tiles that decoding from a position needs: none, or some up to the one of position - 1.
  using NeededTiles = std::function<TileRange(uint32_t position)>;

  Sidecar(TilePool& pool, const NodeTable& nodes, const ChainHasher& hasher, NeededTiles needed)
      : tiles_(pool),
        nodes_(nodes),
        hasher_(hasher),
        needed_(std::move(needed)),
        ghosts_(pool.tile_count()) {}

  [[nodiscard]] const SidecarTiles& tiles() const { return tiles_; }
  [[nodiscard]] bool Has(NodeId node) const { return tiles_.Has(node); }
  void Put(NodeId node, const TileRef& tile) { tiles_.Put(node, tile); }
  // The node goes: its points do, and its tile unless another node has it too. Requires that no
  // point below it is left.
  void Forget(NodeId node);

  // Whether all that decoding from there needs is here. Requires 1 <= count <= tokens of the node,
  // as all that follow.
  [[nodiscard]] bool IsComplete(NodeId node, uint32_t count) const;
  // Requires IsComplete. A point that is there keeps the later of both in ResumeClass. Positions
  // that need no tile get no point.
  void AddPoint(NodeId node, uint32_t count, ResumeClass resume_class);
  // A point that cannot be: remembered as if it had been evicted. Nothing if there is one.
  void AddGhost(NodeId node, uint32_t count, ResumeClass resume_class);
  // Newest points on the path up to there become superseded ones.
  void Supersede(NodeId node, uint32_t count);
  // Somebody resumed there.
  void Touch(NodeId node, uint32_t count);
  // Somebody goes on with `tokens` after the whole tiles of hash `before`: appends the evicted
  // points on the way that lie more than `passed` tokens on, the first one first. Another place to
  // ask for is `likely` tokens on, if not 0.
  void FindGhosts(const ChainHash& before, std::span<const TokenId> tokens, uint32_t passed,
                  uint32_t likely, std::vector<GhostPlaces::Place>& ghosts) const;
  // The last of `ghosts` that is still known would have been resumed. Its class, if there is one.
  std::optional<ResumeClass> NoteMiss(std::span<const GhostPlaces::Place> ghosts);
  // The node's tile goes, from other nodes that have it too, and so do the points that need it.
  // Nodes that lose it come to `bared`.
  void DropTile(NodeId node, std::vector<NodeId>& bared) { DropTile(tiles_.TileOf(node), bared); }
  void DropTile(TileId tile, std::vector<NodeId>& bared);
  void Tick() { points_.Tick(); }  // a request begins
  // Points of `from` become points of `to`, a sibling that begins with its tokens. Requires that
  // `to` has a tile if `from` has.
  void MovePoints(NodeId from, NodeId to);

  // That of the node's points which is worth most; -1 without one.
  [[nodiscard]] double WorthAt(NodeId node) const;

  // Frees one tile, or none if all are in use or needed by points worth at least `worth`: then
  // false. Nodes that lose it come to `bared`.
  bool EvictTile(double worth, std::vector<NodeId>& bared);
  // The tile goes, as with DropTile, unless a point needs it that is worth more than the one that
  // would be evicted next, or at least `worth`.
  void DropUnlessWorth(TileId tile, double worth, std::vector<NodeId>& bared);

  [[nodiscard]] const ResumePoints& points() const { return points_; }
  // Every count and list recomputed.
  void CheckInvariants() const;

 private:
  struct Place {
    NodeId node;
    uint32_t count = 0;
    ResumePointId next;  // at the same node
  };

  // From the deepest node up; visit(node) says whether to go on. False if one said no.
  template <class Visit>
  bool VisitNeeded(NodeId node, uint32_t count, Visit visit) const {
    WEIR_CHECK(count >= 1 && count <= nodes_[node].token_count);
    const TileRange range = needed_(nodes_[node].start + count);
    for (uint32_t tile = range.end; tile > range.first; --tile) {
      if (!visit(node)) return false;
      node = nodes_[node].parent;
    }
    return true;
  }
  [[nodiscard]] ResumePointId FirstOf(NodeId node) const {
    return node.value() < first_of_node_.size() ? first_of_node_[node.value()] : ResumePointId();
  }
  [[nodiscard]] ResumePointId FindPoint(NodeId node, uint32_t count) const;
  [[nodiscard]] uint64_t KeyOf(NodeId node, uint32_t count) const;
  void Detach(ResumePointId id);  // its tiles are not needed for it any more
  void RemovePoint(ResumePointId id) {
    Detach(id);
    points_.Remove(id);
  }
  void Remember(NodeId node, uint32_t count);
  void EvictPoint(ResumePointId id);
  [[nodiscard]] std::vector<ResumePointId> PointsThatNeed(TileId tile) const;
  [[nodiscard]] ResumePointId ColdestThatFrees(double worth) const;
  bool EvictColdest(double worth);
  [[nodiscard]] bool FreesTiles(ResumePointId id) const;

  SidecarTiles tiles_;
  const NodeTable& nodes_;
  const ChainHasher& hasher_;
  NeededTiles needed_;
  ResumePoints points_;
  GhostPlaces ghosts_;
  std::unordered_map<ResumePointId, Place> places_;
  std::vector<ResumePointId> first_of_node_;  // by node
};

}  // namespace weir
