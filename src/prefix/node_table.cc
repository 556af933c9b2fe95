#include "prefix/node_table.h"

#include <algorithm>

#include "base/check.h"

namespace weir {

NodeId NodeTable::Take() {
  if (!free_.empty()) {
    const NodeId id = free_.back();
    free_.pop_back();
    return id;
  }
  if (end_ / kBlockNodes >= blocks_.size()) blocks_.push_back(std::make_unique<Block>());
  return NodeId(end_++);
}

NodeId NodeTable::AddRoot(const ChainHash& hash) {
  const NodeId id = Take();
  Node& node = (*this)[id];
  node.hash = hash;
  node.state = NodeState::kLive;
  return id;
}

NodeId NodeTable::Add(NodeId parent, const ChainHash& hash, std::span<const TokenId> tokens) {
  WEIR_CHECK(!tokens.empty() && tokens.size() <= kTileTokens);
  const NodeId id = AddRoot(hash);
  Node& node = (*this)[id];
  node.parent = parent;
  node.start = (*this)[parent].end();
  node.token_count = static_cast<uint32_t>(tokens.size());
  std::ranges::copy(tokens, BlockOf(id).tokens[id.value() % kBlockNodes].begin());
  return id;
}

void NodeTable::Free(NodeId id) {
  Node& node = (*this)[id];
  WEIR_CHECK(node.state != NodeState::kFree && node.pins == 0 && node.children.empty());
  node = Node();
  free_.push_back(id);
}

}  // namespace weir
