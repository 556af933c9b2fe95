// What the twin of the trie keeps: every node under its full text.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <vector>

#include "prefix/prefix_trie.h"

namespace weir::test {

using Text = std::vector<TokenId>;

struct Key {  // of a node
  size_t root = 0;
  Text text;  // from position 0

  auto operator<=>(const Key&) const = default;
  [[nodiscard]] Key Parent() const {
    return {root, Text(text.begin(), text.end() - static_cast<ptrdiff_t>(OwnCount()))};
  }
  [[nodiscard]] size_t OwnCount() const { return (text.size() - 1) % 128 + 1; }
  [[nodiscard]] std::span<const TokenId> Own() const { return std::span(text).last(OwnCount()); }
  [[nodiscard]] bool is_root() const { return text.empty(); }
  [[nodiscard]] bool is_tail() const { return text.size() % 128 != 0; }
};

struct Record {
  NodeId id;
  TileId full;
  TileId window;
  TileId owed;
  uint32_t pins = 0;
};
using Tiles = std::set<TileId>;
using Member = TileId Record::*;

struct HeldPin {
  PrefixPin pin;
  Key key;
  Tiles flushed;  // full tiles of its path, once flushed
  bool is_flushed = false;
};

}  // namespace weir::test
