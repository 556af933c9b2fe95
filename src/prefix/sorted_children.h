// The children of a node in the order of their tokens, so that those which begin like a prompt are
// neighbours and found by binary search, however many there are.
//
// Pure functions on the table. Threads: as the table.
#pragma once

#include <cstdint>
#include <span>

#include "prefix/node_table.h"

namespace weir {

void AddToParent(NodeTable& nodes, NodeId id);       // requires that it is not there
void RemoveFromParent(NodeTable& nodes, NodeId id);  // requires that it is

// Children whose tokens begin like something.
struct ChildRange {
  std::span<const NodeId> children;
  uint32_t common = 0;  // tokens, the same of each
};

// Those that share the longest beginning with `tokens`: none if no child shares a token; of very
// many, some neighbours.
[[nodiscard]] ChildRange ClosestChildren(const NodeTable& nodes, NodeId parent,
                                         std::span<const TokenId> tokens);

// The longest child that is a beginning of `tokens` and shorter; none if there is none.
[[nodiscard]] NodeId LongestBeginning(const NodeTable& nodes, NodeId parent,
                                      std::span<const TokenId> tokens);

// Children that `tokens` are a beginning of, and that are longer: of very many, some.
[[nodiscard]] std::span<const NodeId> Continuations(const NodeTable& nodes, NodeId parent,
                                                    std::span<const TokenId> tokens);

}  // namespace weir
