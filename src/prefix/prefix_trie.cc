#include "prefix/prefix_trie.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "prefix/trie_state.h"

namespace weir {
namespace {

ResumeNeeds NeedsOf(const KvLayout& layout) {
  ResumeNeeds needs;
  if (layout.window) needs.window = layout.window->window;
  if (layout.full && layout.full->codec != nullptr) {
    needs.owes_rows = true;
    needs.residual = layout.full->codec->residual_tiles;
  }
  return needs;
}

// About as many nodes as will be: one a tile of the pool that nodes cannot do without.
size_t ExpectedNodes(const KvCache& cache) {
  const TilePool* pool = cache.full_pool() != nullptr ? cache.full_pool() : cache.window_pool();
  return pool != nullptr ? pool->tile_count() : 0;
}

}  // namespace

PrefixTrie::State::State(KvCache& kv_cache, const PrefixTrieOptions& options)
    : cache(kv_cache),
      needs(NeedsOf(cache.layout())),
      replayable_from(options.replayable_from),
      hasher(options.secret, options.fingerprint, options.hash_mask),
      index(ExpectedNodes(cache)),
      leaves(ExpectedNodes(cache)),
      full(cache.full_pool()) {
  if (cache.window_pool() != nullptr) {
    window.emplace(*cache.window_pool(), nodes, hasher, [reach = needs.window](uint32_t position) {
      return LiveWindowTiles(reach, position);
    });
  }
  if (cache.owed_pool() != nullptr) {
    owed.emplace(*cache.owed_pool(), nodes, hasher, [residual = needs.residual](uint32_t position) {
      return LiveOwedTiles(residual, position);
    });
  }
}

PathTile PrefixTrie::State::TileFlags(NodeId node) const {
  return {.has_window = window && window->Has(node), .has_owed = owed && owed->Has(node)};
}

PrefixTrie::PrefixTrie(KvCache& cache, const PrefixTrieOptions& options)
    : state_(std::make_unique<State>(cache, options)) {}

PrefixTrie::~PrefixTrie() { WEIR_CHECK(state_->pins == 0); }

PrefixPin::~PrefixPin() {
  if (trie_ != nullptr) trie_->Unpin(node_);
}

PrefixPin::PrefixPin(PrefixPin&& other) noexcept
    : trie_(std::exchange(other.trie_, nullptr)), node_(std::exchange(other.node_, NodeId())) {}

PrefixPin& PrefixPin::operator=(PrefixPin&& other) noexcept {
  PrefixPin taken(std::move(other));  // dies with what *this held
  std::swap(trie_, taken.trie_);
  std::swap(node_, taken.node_);
  return *this;
}

PrefixPin PrefixTrie::Root(std::string_view name_space) {
  State& state = *state_;
  NodeId root = state.roots.Find(name_space);
  if (root == NodeId()) {
    root = state.nodes.AddRoot(state.hasher.Root(name_space));
    state.roots.Add(name_space, root);
    state.heat.AddWarmest(root);
  }
  return Pin(root);
}

PrefixPin PrefixTrie::Pin(NodeId node) {
  WEIR_CHECK(state_->nodes[node].state != NodeState::kFree);
  ++state_->nodes[node].pins;
  ++state_->pins;
  return {this, node};
}

void PrefixTrie::Unpin(NodeId node) {
  State& state = *state_;
  WEIR_CHECK(state.nodes[node].pins > 0);
  --state.pins;
  if (--state.nodes[node].pins > 0) return;
  if (!state.nodes[node].is_live()) {
    state.FreeFlushed(node);
  } else if (state.nodes[node].is_tail() && state.RetireIfContinued(node)) {
    return;
  } else {
    state.RemoveWorthless(node);
    state.Reorder(node);
  }
}

void PrefixTrie::Stamp(NodeId node) {
  State& state = *state_;
  if (!state.nodes[node].is_live()) return;
  state.leaves.Tick();
  state.ForEachSidecar([](Sidecar& sidecar) { sidecar.Tick(); });
  const NodeId end = node;
  for (; node != NodeId(); node = state.nodes[node].parent) {
    state.heat.MakeWarmest(node);
    if (node != end && !state.nodes[node].is_root()) state.NoteUse(node);
  }
  if (!state.nodes[end].is_root()) state.NoteUse(end);
}

void PrefixTrie::Restamp(NodeId node) {
  State& state = *state_;
  if (!state.nodes[node].is_live()) return;
  const NodeId end = node;
  for (; node != NodeId(); node = state.nodes[node].parent) {
    state.heat.MakeWarmest(node);
    if (!state.nodes[node].is_root()) state.leaves.Refresh(node);
  }
  state.Reorder(end);
}

bool PrefixTrie::AddResumePoint(NodeId node, uint32_t count, ResumeClass resume_class) {
  State& state = *state_;
  if (!state.nodes[node].is_live()) return false;
  bool is_complete = true;
  state.ForEachSidecar(
      [&](const Sidecar& sidecar) { is_complete &= sidecar.IsComplete(node, count); });
  state.ForEachSidecar([&](Sidecar& sidecar) {
    if (is_complete) {
      sidecar.AddPoint(node, count, resume_class);
    } else {
      sidecar.AddGhost(node, count, resume_class);
    }
  });
  return is_complete;
}

void PrefixTrie::Supersede(NodeId node, uint32_t count) {
  state_->ForEachSidecar([&](Sidecar& sidecar) { sidecar.Supersede(node, count); });
}

void PrefixTrie::DropSidecars(NodeId node) {
  State& state = *state_;
  state.bared.clear();
  state.ForEachSidecar([&](Sidecar& sidecar) { sidecar.DropTile(node, state.bared); });
  state.OnBared();
}

void PrefixTrie::DropTiles(const NodeTiles& tiles) {
  State& state = *state_;
  state.bared.clear();
  if (state.window) state.window->DropTile(tiles.window.id(), state.bared);
  if (state.owed) state.owed->DropTile(tiles.owed.id(), state.bared);
  state.OnBared();
}

bool PrefixTrie::GiveUpTail(NodeId tail) {
  State& state = *state_;
  const Node& node = state.nodes[tail];
  if (!node.is_live() || !node.is_tail() || state.IsHeld(tail)) return false;
  // Nobody else's, once the trie lets go.
  bool is_lent_once = !node.full || state.full.pool()->reference_count(node.full.id()) == 2;
  state.ForEachSidecar(
      [&](const Sidecar& sidecar) { is_lent_once &= sidecar.tiles().IsLentOnce(tail); });
  if (!is_lent_once) return false;
  state.Remove(tail);
  ++state.counters.evicted_nodes;
  return true;
}

double PrefixTrie::WorthAt(NodeId node) const { return std::max(state_->WorthAt(node), 0.0); }

bool PrefixTrie::DropUnlessWorth(const NodeTiles& tiles, double worth) {
  State& state = *state_;
  bool dropped = false;
  const auto drop = [&](std::optional<Sidecar>& sidecar, TileId tile, uint64_t& evicted) {
    if (!sidecar) return;
    state.bared.clear();
    sidecar->DropUnlessWorth(tile, worth, state.bared);
    if (state.bared.empty()) return;
    ++evicted;
    dropped = true;
    state.OnBared();
  };
  drop(state.window, tiles.window.id(), state.counters.evicted_windows);
  drop(state.owed, tiles.owed.id(), state.counters.evicted_owed);
  return dropped;
}

void PrefixTrie::StampResume(NodeId node, uint32_t count) {
  if (!state_->nodes[node].is_live()) return;
  state_->ForEachSidecar([&](Sidecar& sidecar) { sidecar.Touch(node, count); });
}

std::vector<NodeId> PrefixTrie::Nodes() const {
  std::vector<NodeId> nodes;
  const HeatList<NodeId>& heat = state_->heat;
  for (NodeId node = heat.coldest(); node != NodeId(); node = heat.Warmer(node)) {
    if (!state_->nodes[node].is_root()) nodes.push_back(node);
  }
  return nodes;
}

NodeId PrefixTrie::ParentOf(NodeId node) const { return state_->nodes[node].parent; }

uint32_t PrefixTrie::StartOf(NodeId node) const { return state_->nodes[node].start; }

std::span<const TokenId> PrefixTrie::TokensOf(NodeId node) const {
  return state_->nodes.TokensOf(node);
}

TileId PrefixTrie::FullTileOf(NodeId node) const { return state_->nodes[node].full.id(); }
bool PrefixTrie::HasWindow(NodeId node) const { return state_->TileFlags(node).has_window; }

bool PrefixTrie::HasOwed(NodeId node) const { return state_->TileFlags(node).has_owed; }

ResumeNeeds PrefixTrie::resume_needs() const { return state_->needs; }

std::vector<uint32_t> PrefixTrie::LeafEnds(size_t limit) const {
  const State& state = *state_;
  std::vector<uint32_t> ends;
  for (NodeId id = state.heat.Colder(NodeId()); id != NodeId() && ends.size() < limit;
       id = state.heat.Colder(id)) {
    const Node& node = state.nodes[id];
    if (!node.is_root() && node.children.empty()) ends.push_back(node.start + node.token_count);
  }
  return ends;
}

PrefixTrieStats PrefixTrie::stats() const {
  const State& state = *state_;
  PrefixTrieStats stats = state.counters;
  stats.collisions = state.collisions;
  stats.nodes = state.node_count();
  stats.tails = state.tails;
  stats.pinned = state.pins;
  if (state.window) {
    stats.tombstones = stats.nodes - state.window->tiles().node_count();
    stats.interior_windows = state.window->tiles().interior_count();
  }
  const Sidecar* sidecar = state.PointKeeper();
  if (sidecar == nullptr) return stats;
  stats.resume_points = sidecar->points().count();
  for (size_t i = 0; i < kResumeClassCount; ++i) {
    stats.resume_points_by_class[i] = sidecar->points().count(static_cast<ResumeClass>(i));
  }
  return stats;
}

}  // namespace weir
