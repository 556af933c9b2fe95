// Putting tiles in: new nodes, tiles that nodes lacked, tails that longer nodes replace.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "prefix/sorted_children.h"
#include "prefix/trie_state.h"

namespace weir {
namespace {

// Rows of equal tokens after equal tokens are equal, bit for bit.
[[maybe_unused]] bool HaveEqualPlanes(const TilePool& pool, TileId a, TileId b) {
  const KvGroup& group = pool.group();
  for (uint32_t layer = 0; layer < group.layer_count; ++layer) {
    if (std::memcmp(pool.KeyPlane(a, layer), pool.KeyPlane(b, layer), group.layer_bytes()) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

NodeId PrefixTrie::Insert(NodeId parent, std::span<const TokenId> tokens, NodeTiles& tiles) {
  State& state = *state_;
  WEIR_CHECK(!tokens.empty() && tokens.size() <= kTileTokens);
  WEIR_CHECK(!state.nodes[parent].is_tail());
  if (!state.nodes[parent].is_live()) return {};
  const ChainHash hash = state.hasher.Child(state.nodes[parent].hash, tokens);
  NodeId node = state.FindChild(parent, hash, tokens);
  const bool is_new = node == NodeId();
  if (is_new && tokens.size() < kTileTokens) {
    const NodeId continuation = state.FindContinuation(parent, tokens, tiles);
    if (continuation != NodeId()) return continuation;
  }
  if (is_new) node = state.AddNode(parent, hash, tokens);
  if (state.HasFullGroup()) state.GiveFull(node, tiles.full);
  uint64_t filled = 0;
  if (state.window) filled += state.GiveSidecar(*state.window, node, tiles.window);
  if (state.owed) filled += state.GiveSidecar(*state.owed, node, tiles.owed);
  if (!is_new && filled > 0) {
    ++state.counters.tombstones_healed;
    state.Reorder(node);
  }
  if (is_new || filled > 0) state.RetireBeginnings(node);
  return node;
}

NodeId PrefixTrie::State::AddNode(NodeId parent, const ChainHash& hash,
                                  std::span<const TokenId> tokens) {
  const NodeId node = nodes.Add(parent, hash, tokens);
  AddToParent(nodes, node);
  index.Add(hash, node);
  heat.AddColderThan(node, parent);
  NoteUse(node);
  const bool was_leaf = !nodes[parent].is_root() && nodes[parent].children.size() == 1;
  if (was_leaf) leaves.RemoveLeaf(parent);
  leaves.AddLeaf(node);
  if (nodes[node].is_tail()) ++tails;
  ++counters.inserted;
  return node;
}

// A child that makes a new one of `tokens` and `tiles` needless, or none.
NodeId PrefixTrie::State::FindContinuation(NodeId parent, std::span<const TokenId> tokens,
                                           const NodeTiles& tiles) const {
  for (const NodeId child : Continuations(nodes, parent, tokens)) {
    const bool lacks_window = window && tiles.window && !window->Has(child);
    const bool lacks_owed = owed && tiles.owed && !owed->Has(child);
    if (!lacks_window && !lacks_owed) return child;
  }
  return {};
}

// `tile` becomes one more reference to `kept`.
void PrefixTrie::State::Repoint(TileRef& tile, TileRef kept) {
  if (!tile || tile.id() == kept.id()) return;
  if (tile.is_exclusive()) ++counters.duplicates_freed;
  tile = std::move(kept);
}

void PrefixTrie::State::GiveFull(NodeId id, TileRef& tile) {
  Node& node = nodes[id];
  WEIR_CHECK(tile);
  if (!node.full) return full.Put(node, tile);
  WEIR_DCHECK(!node.is_whole() || HaveEqualPlanes(*full.pool(), node.full.id(), tile.id()));
  Repoint(tile, node.full.Share());
}

// The number of tiles that the node took: 0 or 1.
uint64_t PrefixTrie::State::GiveSidecar(Sidecar& sidecar, NodeId node, TileRef& tile) {
  if (!tile) return 0;
  if (sidecar.Has(node)) {
    Repoint(tile, sidecar.tiles().Share(node));
    return 0;
  }
  sidecar.Put(node, tile);
  return 1;
}

// Tails that `node` continues.
void PrefixTrie::State::RetireBeginnings(NodeId node) {
  const NodeId parent = nodes[node].parent;
  std::span<const TokenId> beginning = nodes.TokensOf(node);
  for (NodeId tail = LongestBeginning(nodes, parent, beginning); tail != NodeId();
       tail = LongestBeginning(nodes, parent, beginning)) {
    beginning = beginning.first(nodes[tail].token_count);
    RetireTail(tail, node);
  }
}

// Nothing in `tail` that `continuation` has not: its resume points move there, and it goes.
bool PrefixTrie::State::RetireTail(NodeId tail, NodeId continuation) {
  if (nodes[tail].pins > 0) return false;
  bool loses = false;
  ForEachSidecar(
      [&](Sidecar& sidecar) { loses |= sidecar.Has(tail) && !sidecar.Has(continuation); });
  if (loses) return false;
  ForEachSidecar([&](Sidecar& sidecar) { sidecar.MovePoints(tail, continuation); });
  heat.Remove(continuation);  // it stands for what the tail's users wanted
  heat.AddColderThan(continuation, nodes[tail].parent);
  leaves.Refresh(continuation);
  Reorder(continuation);
  Remove(tail);
  return true;
}

bool PrefixTrie::State::RetireIfContinued(NodeId tail) {
  const std::span<const NodeId> continuations =
      Continuations(nodes, nodes[tail].parent, nodes.TokensOf(tail));
  return std::ranges::any_of(continuations,
                             [&](NodeId continuation) { return RetireTail(tail, continuation); });
}

}  // namespace weir
