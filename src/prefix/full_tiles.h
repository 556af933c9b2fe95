// The full tiles of nodes, and whether somebody besides the trie uses them.
//
// Several nodes may refer to one tile: tails of one sequence that grew in place.
//
// Ownership: the references lie in the nodes. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kv/tile_pool.h"
#include "prefix/node_table.h"

namespace weir {

class FullTiles {
 public:
  explicit FullTiles(TilePool* pool)  // null: a model without a full group
      : pool_(pool), holders_(pool != nullptr ? pool->tile_count() + 1 : 0) {}

  [[nodiscard]] TilePool* pool() const { return pool_; }
  void Put(Node& node, const TileRef& tile) {
    WEIR_CHECK(tile && !node.full);
    node.full = tile.Share();
    ++holders_[tile.id().value()];
  }
  void Drop(Node& node) {
    if (!node.full) return;
    --holders_[node.full.id().value()];
    node.full = TileRef();
  }
  [[nodiscard]] bool IsInUse(const Node& node) const {
    return node.full && pool_->reference_count(node.full.id()) > holders_[node.full.id().value()];
  }
  [[nodiscard]] uint32_t HoldersOf(TileId tile) const { return holders_[tile.value()]; }

 private:
  TilePool* pool_;
  std::vector<uint32_t> holders_;  // nodes, by tile
};

}  // namespace weir
