// The window tiles (or owed tiles) that nodes hold, and which of them no resume point needs.
//
// A tile may belong to several nodes: tails of one sequence that grew in place. It is one tile all
// the same: held by one reference, needed if any resume point needs it at any of its nodes, and
// gone from all of them at once. Tiles that no point needs are *interior*, kept in order of use.
//
// Ownership: one reference a tile into the pool. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kv/tile_pool.h"
#include "prefix/heat_list.h"
#include "prefix/node_id.h"

namespace weir {

class SidecarTiles {
 public:
  explicit SidecarTiles(TilePool& pool) : pool_(pool), kept_(pool.tile_count() + 1) {}

  [[nodiscard]] TilePool& pool() const { return pool_; }
  [[nodiscard]] bool Has(NodeId node) const { return TileOf(node) != TileId(); }
  [[nodiscard]] bool Keeps(TileId tile) const {
    return static_cast<bool>(kept_[tile.value()].tile);
  }
  [[nodiscard]] TileId TileOf(NodeId node) const {
    return node.value() < slots_.size() ? slots_[node.value()].tile : TileId();
  }
  [[nodiscard]] std::vector<NodeId> HoldersOf(TileId tile) const;
  // One more reference to the node's tile; empty without one.
  [[nodiscard]] TileRef Share(NodeId node) const;
  // Whether somebody besides the trie refers to the node's tile: freeing it here frees nothing.
  [[nodiscard]] bool IsInUse(NodeId node) const;
  // Whether no other node has the node's tile, and one reference besides the trie's; or it has
  // none.
  [[nodiscard]] bool IsLentOnce(NodeId node) const;

  void Put(NodeId node, const TileRef& tile);  // requires that the node has none; interior at first
  void Drop(NodeId node);  // requires that no point needs it there; nothing if it has none

  // A point needs the node's tile, or no longer does. Requires that it has one.
  void Cover(NodeId node);
  void Uncover(NodeId node);  // interior again, and the first to go
  // The node's tile was used: if interior, it leaves last.
  void Refresh(NodeId node);

  // The interior tile that leaves first, of those that are not in use; or none.
  [[nodiscard]] TileId ColdestInterior() const;
  // Frees it and appends the nodes that had it to `bared`.
  void Evict(TileId tile, std::vector<NodeId>& bared);

  [[nodiscard]] uint64_t node_count() const { return node_count_; }  // that have a tile
  [[nodiscard]] uint64_t interior_count() const { return interior_.count(); }
  // `cover`: by tile, how often points need it.
  void CheckInvariants(std::span<const uint32_t> cover) const;

 private:
  struct Slot {  // of a node
    TileId tile;
    NodeId next_holder;  // of the same tile
  };
  struct Kept {  // a tile
    TileRef tile;
    uint32_t cover = 0;  // resume points that need it, each once a node
    NodeId first_holder;
  };

  [[nodiscard]] Kept& KeptOf(NodeId node) { return kept_[TileOf(node).value()]; }
  void Unlink(NodeId node);

  TilePool& pool_;
  std::vector<Slot> slots_;  // by node
  std::vector<Kept> kept_;   // by tile
  HeatList<TileId> interior_;
  uint64_t node_count_ = 0;
};

}  // namespace weir
