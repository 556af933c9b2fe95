// Looking up: what the trie has of a prompt, references to it, and what it had.
#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "prefix/sorted_children.h"
#include "prefix/trie_state.h"

namespace weir {

NodeId PrefixTrie::State::FindChild(NodeId parent, const ChainHash& hash,
                                    std::span<const TokenId> tokens) const {
  return index.Find(hash, [&](NodeId id) {
    const Node& node = nodes[id];
    if (node.hash != hash) return false;
    const std::span<const TokenId> own = nodes.TokensOf(id);
    if (node.parent == parent && own.size() == tokens.size() &&
        std::memcmp(own.data(), tokens.data(), own.size_bytes()) == 0) {
      return true;
    }
    ++collisions;
    return false;
  });
}

bool PrefixTrie::State::HasSidecars(NodeId node) const {
  return (needs.window <= 1 || window->Has(node)) && (!needs.owes_rows || owed->Has(node));
}

void PrefixTrie::Match(NodeId root, std::span<const TokenId> prompt, PrefixMatch& match) const {
  WEIR_CHECK(!prompt.empty());
  match.root = root;
  match.nodes.clear();
  match.last_count = 0;
  state_->MatchTiles(prompt, match);
  state_->MatchInside(prompt.subspan(match.nodes.size() * kTileTokens), match);
  state_->MeasureMatch(static_cast<uint32_t>(prompt.size()) - 1, match);
}

// Whole tiles, by hash.
void PrefixTrie::State::MatchTiles(std::span<const TokenId> prompt, PrefixMatch& match) const {
  NodeId parent = match.root;
  ChainHash hash = nodes[parent].hash;
  for (; prompt.size() >= kTileTokens; prompt = prompt.subspan(kTileTokens)) {
    const std::span<const TokenId> tokens = prompt.first(kTileTokens);
    hash = hasher.Child(hash, tokens);
    parent = FindChild(parent, hash, tokens);
    if (parent == NodeId()) return;
    match.nodes.push_back(parent);
    match.last_count = kTileTokens;
  }
}

// Then the child that goes with the prompt for longest. Of several, one whose rows are all there.
void PrefixTrie::State::MatchInside(std::span<const TokenId> rest, PrefixMatch& match) const {
  const NodeId parent = match.nodes.empty() ? match.root : match.nodes.back();
  if (!nodes[parent].is_live()) return;
  const size_t count = std::min<size_t>(rest.size(), kTileTokens);
  const ChildRange closest = ClosestChildren(nodes, parent, rest.first(count));
  if (closest.children.empty()) return;
  const auto complete =
      std::ranges::find_if(closest.children, [&](NodeId child) { return HasSidecars(child); });
  match.nodes.push_back(complete != closest.children.end() ? *complete : closest.children[0]);
  match.last_count = closest.common;
}

void PrefixTrie::State::MeasureMatch(uint32_t most, PrefixMatch& match) const {
  uint32_t matched = 0;
  match.parts = false;
  if (!match.nodes.empty()) {
    const Node& last = nodes[match.nodes.back()];
    matched = last.start + match.last_count;
    match.parts = match.last_count < last.token_count || !last.children.empty();
  }
  match.full_length = std::min(matched, most);
  path.clear();
  for (const NodeId node : match.nodes) path.push_back(TileFlags(node));
  match.safe_length = ResumePosition(path, match.full_length, needs);
  match.veto = VetoAt(path, match.full_length, needs);
}

std::optional<ResumeClass> PrefixTrie::NoteMiss(const PrefixMatch& match,
                                                std::span<const TokenId> prompt,
                                                uint32_t position) {
  State& state = *state_;
  std::optional<ResumeClass> missed;
  const uint32_t first = position / kTileTokens;  // tile
  const ChainHash before = state.nodes[first == 0 ? match.root : match.nodes[first - 1]].hash;
  state.ForEachSidecar([&](Sidecar& sidecar) {
    state.ghosts.clear();
    ChainHash hash = before;
    std::span<const TokenId> rest = prompt.first(prompt.size() - 1).subspan(first * kTileTokens);
    uint32_t start = first * kTileTokens;
    while (!rest.empty()) {
      const std::span<const TokenId> tile = rest.first(std::min<size_t>(rest.size(), kTileTokens));
      const auto end = start + static_cast<uint32_t>(tile.size());
      const bool ends = start < match.full_length && match.full_length <= end;
      sidecar.FindGhosts(hash, tile, std::max(start, position) - start,
                         ends ? match.full_length - start : 0, state.ghosts);
      hash = state.hasher.Child(hash, tile);
      rest = rest.subspan(tile.size());
      start = end;
    }
    missed = std::max(missed, sidecar.NoteMiss(state.ghosts));
  });
  return missed;
}

PrefixTiles PrefixTrie::Share(const PrefixMatch& match, uint32_t position) const {
  WEIR_CHECK(position <= match.full_length);
  const State& state = *state_;
  PrefixTiles shared{.position = position, .tiles = {}};
  shared.tiles.resize((position + kTileTokens - 1) / kTileTokens);
  const TileRange owed = LiveOwedTiles(state.needs.residual, position);
  const TileRange window =
      state.window ? LiveWindowTiles(state.needs.window, position) : TileRange();
  for (uint32_t tile = 0; tile < shared.tiles.size(); ++tile) {
    const NodeId node = match.nodes[tile];
    NodeTiles& tiles = shared.tiles[tile];
    tiles.full = state.nodes[node].full.Share();
    if (window.Contains(tile)) tiles.window = state.window->tiles().Share(node);
    if (state.owed && owed.Contains(tile)) tiles.owed = state.owed->tiles().Share(node);
  }
  return shared;
}

}  // namespace weir
