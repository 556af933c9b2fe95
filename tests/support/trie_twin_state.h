// What there should be in a trie: its twin's nodes, tiles and pins, and what follows from these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "prefix/prefix_trie.h"
#include "support/prefix_kv.h"
#include "support/trie_twin_records.h"

namespace weir::test {

class TrieTwinState {
 protected:
  TrieTwinState(const PrefixKvShape& shape, uint64_t hash_mask, uint64_t seed)
      : kv_(shape),
        trie_(kv_.cache(), {.secret = {}, .fingerprint = "model", .hash_mask = hash_mask}),
        random_(seed) {}

  TilePool* full() { return kv_.cache().full_pool(); }
  TilePool* window() { return kv_.cache().window_pool(); }
  TilePool* owed() { return kv_.cache().owed_pool(); }

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  template <class Predicate>
  size_t Count(Predicate predicate) const {
    return static_cast<size_t>(std::ranges::count_if(
        nodes_, [&](const auto& node) { return predicate(node.first, node.second); }));
  }

  void TakeRoots() {
    roots_.clear();
    roots_.push_back(trie_.Root(""));
    roots_.push_back(trie_.Root("other"));
  }

  NodeId IdOf(const Key& key) {
    return key.is_root() ? roots_[key.root].node() : nodes_.at(key).id;
  }

  std::vector<Key> ChildrenOf(const Key& parent) {
    std::vector<Key> children;
    for (const auto& [key, record] : nodes_) {
      if (key.Parent() == parent) children.push_back(key);
    }
    return children;
  }

  bool IsLeaf(const Key& key) { return ChildrenOf(key).empty(); }

  static TileId IdIn(const NodeTiles& tiles, Member member) {
    if (member == &Record::full) return tiles.full.id();
    return member == &Record::window ? tiles.window.id() : tiles.owed.id();
  }

  Tiles InViews(Member member) {
    Tiles tiles;
    for (const auto& [key, view] : views_) tiles.insert(IdIn(view, member));
    return tiles;
  }

  Tiles Flushed() {
    Tiles tiles;
    for (const HeldPin& pin : pins_) tiles.insert(pin.flushed.begin(), pin.flushed.end());
    return tiles;
  }

  bool IsSafe(const std::vector<Record>& path, uint32_t position) {
    const ResumeNeeds needs = trie_.resume_needs();
    for (uint32_t tile = 0; 128 * tile < position; ++tile) {
      const uint32_t last_row = std::min(128 * (tile + 1), position) - 1;
      const bool in_window = needs.window > 0 && last_row + needs.window > position;
      if (in_window && path[tile].window == TileId()) return false;
      const bool is_owed = needs.owes_rows && tile + needs.residual >= position / 128;
      if (is_owed && path[tile].owed == TileId()) return false;
    }
    return true;
  }

  std::vector<Record> PathTo(Key key) {
    std::vector<Record> path;
    for (; !key.is_root(); key = key.Parent()) path.push_back(nodes_.at(key));
    std::ranges::reverse(path);
    return path;
  }

  uint32_t SafeLength(const Key& key, uint32_t limit) {
    const std::vector<Record> path = PathTo(key);
    while (!IsSafe(path, limit)) --limit;
    return limit;
  }

  // Nodes that may go: not pinned, not in use, and so all below them.
  std::set<Key> Removable() {
    std::set<Key> removable;
    const Tiles in_use = InViews(&Record::full);
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {  // longer texts first
      const auto& [key, record] = *node;
      const std::vector<Key> children = ChildrenOf(key);
      const bool may_go = record.pins == 0 && (full() == nullptr || !in_use.contains(record.full));
      const auto goes = [&](const Key& child) { return removable.contains(child); };
      if (may_go && std::ranges::all_of(children, goes)) removable.insert(key);
    }
    return removable;
  }

  // Distinct tiles of nodes, but for those that others hold, or nodes that stay.
  size_t CountFreeable(Member member, const std::set<Key>& going) {
    Tiles kept = InViews(member);
    if (member == &Record::full) kept.merge(Flushed());
    Tiles tiles;
    for (const auto& [key, record] : nodes_) {
      (going.contains(key) ? tiles : kept).insert(record.*member);
    }
    tiles.erase(TileId());
    return static_cast<size_t>(
        std::ranges::count_if(tiles, [&](TileId tile) { return !kept.contains(tile); }));
  }

  std::set<Key> AllKeys() {
    std::set<Key> keys;
    for (const auto& [key, record] : nodes_) keys.insert(key);
    return keys;
  }

  std::set<Key> Vanished() {
    const std::vector<NodeId> order = trie_.Nodes();
    const std::set<NodeId> left(order.begin(), order.end());
    std::set<Key> gone;
    for (const auto& [key, record] : nodes_) {
      if (!left.contains(record.id)) gone.insert(key);
    }
    return gone;
  }

  // What evictions did becomes known.
  void TakeOver(const std::set<Key>& gone) {
    for (const Key& key : gone) nodes_.erase(key);
    for (auto& [key, record] : nodes_) {
      if (!trie_.HasWindow(record.id)) record.window = TileId();
      if (!trie_.HasOwed(record.id)) record.owed = TileId();
    }
  }

  PrefixKv kv_;
  PrefixTrie trie_;
  std::mt19937_64 random_;
  std::vector<PrefixPin> roots_;
  std::map<Key, Record> nodes_;
  std::vector<HeldPin> pins_;
  std::vector<std::pair<Key, NodeTiles>> views_;
};

}  // namespace weir::test
