// What the trie consists of, and the steps that its operations share. Private to prefix/.
//
// Threads: the engine thread.
#pragma once

#include <optional>
#include <vector>

#include "prefix/full_tiles.h"
#include "prefix/hash_index.h"
#include "prefix/heat_list.h"
#include "prefix/leaf_order.h"
#include "prefix/node_table.h"
#include "prefix/prefix_trie.h"
#include "prefix/root_table.h"
#include "prefix/sidecar.h"

namespace weir {

struct PrefixTrie::State {
  State(KvCache& cache, const PrefixTrieOptions& options);

  [[nodiscard]] bool HasFullGroup() const { return full.pool() != nullptr; }
  [[nodiscard]] PathTile TileFlags(NodeId node) const;
  // Whether decoding may resume inside the node's tile as far as its own rows are concerned.
  [[nodiscard]] bool HasSidecars(NodeId node) const;
  // The live child of `parent` with just these tokens, or none. Counts collisions.
  [[nodiscard]] NodeId FindChild(NodeId parent, const ChainHash& hash,
                                 std::span<const TokenId> tokens) const;

  // The sidecar whose points stand for all in reports; null in a model that needs none.
  [[nodiscard]] const Sidecar* PointKeeper() const {
    return window ? &*window : owed ? &*owed : nullptr;
  }
  template <class Visit>
  void ForEachSidecar(Visit visit) {
    if (window) visit(*window);
    if (owed) visit(*owed);
  }
  template <class Visit>
  void ForEachSidecar(Visit visit) const {
    if (window) visit(*window);
    if (owed) visit(*owed);
  }

  // trie_match.cc
  void MatchTiles(std::span<const TokenId> prompt, PrefixMatch& match) const;
  void MatchInside(std::span<const TokenId> rest, PrefixMatch& match) const;
  void MeasureMatch(uint32_t most, PrefixMatch& match) const;

  // trie_insert.cc
  NodeId AddNode(NodeId parent, const ChainHash& hash, std::span<const TokenId> tokens);
  [[nodiscard]] NodeId FindContinuation(NodeId parent, std::span<const TokenId> tokens,
                                        const NodeTiles& tiles) const;
  void GiveFull(NodeId node, TileRef& tile);
  uint64_t GiveSidecar(Sidecar& sidecar, NodeId node, TileRef& tile);
  void Repoint(TileRef& tile, TileRef kept);
  void RetireBeginnings(NodeId node);
  bool RetireTail(NodeId tail, NodeId continuation);
  bool RetireIfContinued(NodeId tail);

  // trie_evict.cc
  [[nodiscard]] uint64_t node_count() const { return heat.count() - roots.count(); }  // live
  [[nodiscard]] bool IsEvictable(NodeId node) const;
  // Of a node that is no root; of a path after the nodes before it: a tail is what these are.
  void NoteUse(NodeId id) {
    const Node& node = nodes[id];
    if (node.is_tail() && !nodes[node.parent].is_root()) return leaves.UseTail(id, node.parent);
    leaves.Use(id, node.hash.low);
  }
  // Whether nobody could resume inside a leaf, so that its full tile serves nobody.
  [[nodiscard]] bool IsBarren(NodeId leaf) const;
  void AddLeaf(NodeId node);
  void Reorder(NodeId node);  // it may be barren now, or no longer
  void OnBared();             // nodes in `bared` lost their window or owed tile
  [[nodiscard]] bool IsWorthless(NodeId node) const;
  NodeId RemoveLeaf(NodeId node);  // live; returns its parent
  void Remove(NodeId leaf) { RemoveWorthless(RemoveLeaf(leaf)); }
  void RemoveWorthless(NodeId node);  // and its ancestors, as far as they are
  [[nodiscard]] bool IsHeld(NodeId node) const;
  void Detach(NodeId node);
  void FreeFlushed(NodeId node);  // and its ancestors, as far as nothing holds them
  bool MakeFullRoom(uint32_t need, double worth);
  [[nodiscard]] double WorthAt(NodeId node) const;  // of the best point there; -1 without one
  bool MakeSidecarRoom(Sidecar& sidecar, uint32_t need, double worth, uint64_t& evicted);

  // trie_check.cc
  void CheckLiveNode(NodeId node) const;
  void CheckFlushedNode(NodeId node) const;
  void CheckFullTiles() const;

  KvCache& cache;
  ResumeNeeds needs;
  uint32_t replayable_from;
  ChainHasher hasher;
  NodeTable nodes;
  RootTable roots;        // of live roots
  HashIndex index;        // of live nodes that are no roots
  HeatList<NodeId> heat;  // of live nodes, by last use; no child is warmer than its parent
  LeafOrder leaves;       // of live nodes that are no roots: which goes first
  FullTiles full;
  std::optional<Sidecar> window;
  std::optional<Sidecar> owed;
  uint64_t pins = 0;
  uint64_t tails = 0;        // live
  PrefixTrieStats counters;  // only those since the start
  mutable uint64_t collisions = 0;
  mutable std::vector<PathTile> path;      // buffer of Match
  std::vector<NodeId> bared;               // buffer: they lost a window or owed tile
  std::vector<NodeId> held_leaves;         // buffer of MakeFullRoom
  std::vector<GhostPlaces::Place> ghosts;  // buffer of NoteMiss
};

}  // namespace weir
