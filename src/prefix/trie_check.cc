// Everything that must hold of a trie, recomputed from its nodes.
#include <algorithm>

#include "base/check.h"
#include "prefix/sorted_children.h"
#include "prefix/trie_state.h"

namespace weir {
namespace {

// What a walk over all nodes adds up to.
struct Sums {
  uint64_t live = 0;
  uint64_t roots = 0;
  uint64_t tails = 0;
  uint64_t leaves = 0;
  uint64_t pins = 0;
};

std::vector<uint32_t> RanksByHeat(const HeatList<NodeId>& heat, uint32_t end) {
  std::vector<uint32_t> ranks(end, 0);  // 0: not in the list
  uint32_t rank = 0;
  NodeId colder;
  for (NodeId id = heat.coldest(); id != NodeId(); id = heat.Warmer(id)) {
    WEIR_CHECK(heat.Colder(id) == colder && ranks[id.value()] == 0);
    ranks[id.value()] = ++rank;
    colder = id;
  }
  WEIR_CHECK(rank == heat.count());
  return ranks;
}

void CheckChildren(const NodeTable& nodes, NodeId id) {
  const Node& node = nodes[id];
  WEIR_CHECK(node.children.empty() || !node.is_tail());
  for (size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = nodes[node.children[i]];
    WEIR_CHECK(child.parent == id && child.state == node.state && child.start == node.end());
    if (i == 0) continue;
    WEIR_CHECK(std::ranges::lexicographical_compare(nodes.TokensOf(node.children[i - 1]),
                                                    nodes.TokensOf(node.children[i])));
  }
}

}  // namespace

void PrefixTrie::State::CheckLiveNode(NodeId id) const {
  const Node& node = nodes[id];
  if (node.is_root()) return;
  const std::span<const TokenId> tokens = nodes.TokensOf(id);
  WEIR_CHECK(node.hash == hasher.Child(nodes[node.parent].hash, tokens));
  WEIR_CHECK(index.Find(node.hash, [&](NodeId other) { return other == id; }) == id);
  WEIR_CHECK(static_cast<bool>(node.full) == HasFullGroup());
  WEIR_CHECK(std::ranges::count(nodes[node.parent].children, id) == 1);
}

void PrefixTrie::State::CheckFlushedNode(NodeId id) const {
  WEIR_CHECK(IsHeld(id) && (!window || !window->Has(id)) && (!owed || !owed->Has(id)));
  WEIR_CHECK(static_cast<bool>(nodes[id].full) == (HasFullGroup() && !nodes[id].is_root()));
}

void PrefixTrie::State::CheckFullTiles() const {
  if (!HasFullGroup()) return;
  std::vector<uint32_t> holders(full.pool()->tile_count() + 1, 0);
  for (uint32_t id = 1; id < nodes.end(); ++id) {
    if (nodes[NodeId(id)].full) ++holders[nodes[NodeId(id)].full.id().value()];
  }
  for (uint32_t tile = 1; tile < holders.size(); ++tile) {
    WEIR_CHECK(full.HoldersOf(TileId(tile)) == holders[tile]);
    WEIR_CHECK(full.pool()->reference_count(TileId(tile)) >= holders[tile]);
  }
}

void PrefixTrie::CheckInvariants() const {
  const State& state = *state_;
  const std::vector<uint32_t> ranks = RanksByHeat(state.heat, state.nodes.end());
  Sums sums;
  for (uint32_t value = 1; value < state.nodes.end(); ++value) {
    const NodeId id(value);
    const Node& node = state.nodes[id];
    WEIR_CHECK(node.is_live() == (ranks[value] > 0));
    if (node.state == NodeState::kFree) continue;
    CheckChildren(state.nodes, id);
    sums.pins += node.pins;
    if (!node.is_live()) {
      state.CheckFlushedNode(id);
      continue;
    }
    state.CheckLiveNode(id);
    WEIR_CHECK(node.is_root() || ranks[value] < ranks[node.parent.value()]);
    ++sums.live;
    sums.roots += node.is_root() ? 1 : 0;
    sums.tails += node.is_tail() ? 1 : 0;
    const bool is_leaf = !node.is_root() && node.children.empty();
    WEIR_CHECK(state.leaves.IsLeaf(id) == is_leaf);
    sums.leaves += is_leaf ? 1 : 0;
  }
  WEIR_CHECK(sums.pins == state.pins && sums.tails == state.tails);
  WEIR_CHECK(sums.live == state.heat.count() && sums.roots == state.roots.count());
  WEIR_CHECK(sums.leaves == state.leaves.leaf_count());
  WEIR_CHECK(state.index.count() == sums.live - sums.roots);
  state.CheckFullTiles();
  if (state.window) state.window->CheckInvariants();
  if (state.owed) state.owed->CheckInvariants();
}

}  // namespace weir
