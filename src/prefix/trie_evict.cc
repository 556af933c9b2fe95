// Taking tiles out: by a pool's shortfall, or all of them.
#include <algorithm>

#include "base/check.h"
#include "prefix/sorted_children.h"
#include "prefix/trie_state.h"

namespace weir {

bool PrefixTrie::MakeRoom(const TileNeed& need) { return MakeRoomFor(kAnyWorth, need); }

bool PrefixTrie::MakeRoomFor(double worth, const TileNeed& need) {
  State& state = *state_;
  const uint64_t before = state.node_count();
  bool made = state.MakeFullRoom(need.full, worth);
  if (state.window) {
    made &=
        state.MakeSidecarRoom(*state.window, need.window, worth, state.counters.evicted_windows);
  }
  if (state.owed) {
    made &= state.MakeSidecarRoom(*state.owed, need.owed, worth, state.counters.evicted_owed);
  }
  state.counters.evicted_nodes += before - state.node_count();
  return made;
}

double PrefixTrie::WorthOf(ResumeClass resume_class, uint32_t position) const {
  const Sidecar* sidecar = state_->PointKeeper();
  return sidecar != nullptr ? sidecar->points().WorthOfNew(resume_class, position) : 0;
}

// A node that somebody uses would free nothing.
bool PrefixTrie::State::IsEvictable(NodeId id) const {
  const Node& node = nodes[id];
  return !node.is_root() && !IsHeld(id) && !full.IsInUse(node);
}

// Leaves that must stay are out of the order meanwhile, so that each is met once.
bool PrefixTrie::State::MakeFullRoom(uint32_t need, double worth) {
  if (!HasFullGroup()) return true;
  std::vector<NodeId>& staying = held_leaves;
  staying.clear();
  while (full.pool()->free_count() < need) {
    const NodeId leaf = leaves.Coldest();
    if (leaf == NodeId()) break;
    if (IsEvictable(leaf)) {
      if (WorthAt(leaf) >= worth) break;
      Remove(leaf);
    } else {
      leaves.RemoveLeaf(leaf);
      staying.push_back(leaf);
    }
  }
  for (const NodeId leaf : staying) AddLeaf(leaf);
  return full.pool()->free_count() >= need;
}

double PrefixTrie::State::WorthAt(NodeId id) const {
  double worth = -1;
  ForEachSidecar([&](const Sidecar& sidecar) { worth = std::max(worth, sidecar.WorthAt(id)); });
  return worth;
}

bool PrefixTrie::State::MakeSidecarRoom(Sidecar& sidecar, uint32_t need, double worth,
                                        uint64_t& evicted) {
  while (sidecar.tiles().pool().free_count() < need) {
    bared.clear();
    if (!sidecar.EvictTile(worth, bared)) return false;
    ++evicted;
    OnBared();
  }
  return true;
}

void PrefixTrie::State::OnBared() {
  for (const NodeId node : bared) {
    RemoveWorthless(node);
    Reorder(node);
  }
}

// Whether its rows could be used at all: up to where windows can be made again by a replay, they
// need the windows.
bool PrefixTrie::State::IsBarren(NodeId id) const {
  const Node& node = nodes[id];
  if (node.start + node.token_count >= replayable_from) return false;
  return (window && !window->IsComplete(id, node.token_count)) ||
         (owed && !owed->IsComplete(id, node.token_count));
}

void PrefixTrie::State::AddLeaf(NodeId id) {
  leaves.AddLeaf(id);
  if (IsBarren(id)) leaves.PutFirst(id);
}

void PrefixTrie::State::Reorder(NodeId id) {
  if (!leaves.IsLeaf(id)) return;
  leaves.RemoveLeaf(id);
  AddLeaf(id);
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
    if (nodes[parent].children.empty() && !nodes[parent].is_root()) AddLeaf(parent);
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
