// Taking tiles out: by a pool's shortfall, or all of them.
#include "base/check.h"
#include "prefix/sorted_children.h"
#include "prefix/trie_state.h"

namespace weir {

bool PrefixTrie::MakeRoom(const TileNeed& need) {
  State& state = *state_;
  const uint64_t before = state.node_count();
  bool made = state.MakeFullRoom(need.full);
  if (state.window) {
    made &= state.MakeSidecarRoom(*state.window, need.window, state.counters.evicted_windows);
  }
  if (state.owed) {
    made &= state.MakeSidecarRoom(*state.owed, need.owed, state.counters.evicted_owed);
  }
  state.counters.evicted_nodes += before - state.node_count();
  return made;
}

// A node that somebody uses would free nothing.
bool PrefixTrie::State::IsEvictable(NodeId id) const {
  const Node& node = nodes[id];
  return !node.is_root() && !IsHeld(id) && !full.IsInUse(node);
}

// Leaves that must stay are out of the order meanwhile, so that each is met once.
bool PrefixTrie::State::MakeFullRoom(uint32_t need) {
  if (!HasFullGroup()) return true;
  std::vector<NodeId>& staying = held_leaves;
  staying.clear();
  while (full.pool()->free_count() < need) {
    const NodeId leaf = leaves.Coldest();
    if (leaf == NodeId()) break;
    if (IsEvictable(leaf)) {
      Remove(leaf);
    } else {
      leaves.RemoveLeaf(leaf);
      staying.push_back(leaf);
    }
  }
  for (const NodeId leaf : staying) leaves.AddLeaf(leaf);
  return full.pool()->free_count() >= need;
}

bool PrefixTrie::State::MakeSidecarRoom(Sidecar& sidecar, uint32_t need, uint64_t& evicted) {
  while (sidecar.tiles().pool().free_count() < need) {
    bared.clear();
    if (!sidecar.EvictTile(bared)) return false;
    ++evicted;
    for (const NodeId node : bared) RemoveWorthless(node);
  }
  return true;
}

bool PrefixTrie::State::IsHeld(NodeId id) const {
  return nodes[id].pins > 0 || !nodes[id].children.empty();
}

// Without a full group, a leaf is worth its window tile.
bool PrefixTrie::State::IsWorthless(NodeId id) const {
  if (!nodes[id].is_live() || IsHeld(id)) return false;
  return nodes[id].is_root() || (!HasFullGroup() && !window->Has(id));
}

void PrefixTrie::State::RemoveWorthless(NodeId id) {
  while (id != NodeId() && IsWorthless(id)) id = RemoveLeaf(id);
}

NodeId PrefixTrie::State::RemoveLeaf(NodeId id) {
  Node& node = nodes[id];
  WEIR_CHECK(node.is_live() && !IsHeld(id));
  const NodeId parent = node.parent;
  heat.Remove(id);
  if (node.is_root()) {
    roots.Remove(id);
  } else {
    ForEachSidecar([&](Sidecar& sidecar) { sidecar.Forget(id); });
    full.Drop(node);
    index.Remove(node.hash, id);
    RemoveFromParent(nodes, id);
    leaves.RemoveLeaf(id);
    leaves.Forget(id, node.hash.low);
    if (nodes[parent].children.empty() && !nodes[parent].is_root()) leaves.AddLeaf(parent);
    if (node.is_tail()) --tails;
  }
  nodes.Free(id);
  return parent;
}

uint64_t PrefixTrie::Flush() {
  State& state = *state_;
  const uint64_t count = state.node_count();
  // From cold to warm: children before their parents.
  for (NodeId node = state.heat.coldest(); node != NodeId(); node = state.heat.Warmer(node)) {
    state.Detach(node);
  }
  state.heat.Clear();
  state.leaves.ForgetAll();
  state.index.Clear();
  state.roots.Clear();
  state.tails = 0;
  return count;
}

// Of a node whose children were detached before. Frees those that nothing holds.
void PrefixTrie::State::Detach(NodeId id) {
  Node& node = nodes[id];
  node.state = NodeState::kFlushed;
  ForEachSidecar([&](Sidecar& sidecar) { sidecar.Forget(id); });
  std::erase_if(node.children, [&](NodeId child) {
    if (IsHeld(child)) return false;
    full.Drop(nodes[child]);
    nodes.Free(child);
    return true;
  });
  if (node.is_root() && !IsHeld(id)) nodes.Free(id);
}

void PrefixTrie::State::FreeFlushed(NodeId id) {
  while (id != NodeId() && !nodes[id].is_live() && !IsHeld(id)) {
    const NodeId parent = nodes[id].parent;
    if (parent != NodeId()) RemoveFromParent(nodes, id);
    full.Drop(nodes[id]);
    nodes.Free(id);
    id = parent;
  }
}

}  // namespace weir
