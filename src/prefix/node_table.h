// The nodes of the trie and their tokens, in blocks that never move: 128 ids a node, whatever its
// length. Links each node to its parent only; sorted_children.h does the other direction.
//
// Ownership: nodes hold references to full tiles. Threads: the engine thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/tile_pool.h"
#include "prefix/chain_hash.h"
#include "prefix/node_id.h"
#include "quant/kv_tile.h"

namespace weir {

enum class NodeState : uint8_t {
  kFree,
  kLive,
  kFlushed,  // kept by a pin, its own or a descendant's; can be neither matched nor continued
};

struct Node {
  ChainHash hash;            // of everything up to its last token
  NodeId parent;             // none: a root
  uint32_t start = 0;        // position of its first token
  uint32_t token_count = 0;  // 0: a root
  uint32_t pins = 0;
  NodeState state = NodeState::kFree;
  TileRef full;
  std::vector<NodeId> children;  // sorted by their tokens

  [[nodiscard]] bool is_root() const { return token_count == 0; }
  [[nodiscard]] bool is_whole() const { return token_count == kTileTokens; }
  [[nodiscard]] bool is_tail() const { return !is_root() && !is_whole(); }
  [[nodiscard]] bool is_live() const { return state == NodeState::kLive; }
  [[nodiscard]] uint32_t end() const { return start + token_count; }
};

class NodeTable {
 public:
  // A live node without full tile and children; its parent's list does not have it yet.
  NodeId AddRoot(const ChainHash& hash);
  NodeId Add(NodeId parent, const ChainHash& hash, std::span<const TokenId> tokens);
  void Free(NodeId id);  // requires that it has no children

  [[nodiscard]] Node& operator[](NodeId id) { return BlockOf(id).nodes[id.value() % kBlockNodes]; }
  [[nodiscard]] const Node& operator[](NodeId id) const {
    return BlockOf(id).nodes[id.value() % kBlockNodes];
  }
  [[nodiscard]] std::span<const TokenId> TokensOf(NodeId id) const {
    return std::span(BlockOf(id).tokens[id.value() % kBlockNodes]).first((*this)[id].token_count);
  }
  // Every id given so far is below.
  [[nodiscard]] uint32_t end() const { return end_; }

 private:
  static constexpr uint32_t kBlockNodes = 256;
  struct Block {
    std::array<Node, kBlockNodes> nodes;
    std::array<std::array<TokenId, kTileTokens>, kBlockNodes> tokens;
  };

  [[nodiscard]] Block& BlockOf(NodeId id) const { return *blocks_[id.value() / kBlockNodes]; }
  NodeId Take();

  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<NodeId> free_;  // stack
  uint32_t end_ = 1;          // id 0 is none
};

}  // namespace weir
