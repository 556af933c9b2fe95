#include "prefix/sorted_children.h"

#include <algorithm>

#include "base/check.h"
#include "base/token_span.h"

namespace weir {
namespace {

// Equally close children differ only in what they still have; looking at a few is enough.
constexpr size_t kMostLookedAt = 16;

// Index of the first child whose tokens are not below `tokens`. A beginning comes before what
// continues it.
size_t LowerBound(const NodeTable& nodes, const std::vector<NodeId>& children,
                  std::span<const TokenId> tokens) {
  const auto found = std::ranges::lower_bound(
      children, tokens,
      [](std::span<const TokenId> a, std::span<const TokenId> b) {
        return std::ranges::lexicographical_compare(a, b);
      },
      [&](NodeId child) { return nodes.TokensOf(child); });
  return static_cast<size_t>(found - children.begin());
}

size_t IndexInParent(const NodeTable& nodes, NodeId id) {
  const std::vector<NodeId>& siblings = nodes[nodes[id].parent].children;
  const size_t index = LowerBound(nodes, siblings, nodes.TokensOf(id));
  WEIR_CHECK(index < siblings.size() && siblings[index] == id);
  return index;
}

}  // namespace

void AddToParent(NodeTable& nodes, NodeId id) {
  std::vector<NodeId>& siblings = nodes[nodes[id].parent].children;
  const size_t index = LowerBound(nodes, siblings, nodes.TokensOf(id));
  siblings.insert(siblings.begin() + static_cast<ptrdiff_t>(index), id);
}

void RemoveFromParent(NodeTable& nodes, NodeId id) {
  std::vector<NodeId>& siblings = nodes[nodes[id].parent].children;
  siblings.erase(siblings.begin() + static_cast<ptrdiff_t>(IndexInParent(nodes, id)));
}

ChildRange ClosestChildren(const NodeTable& nodes, NodeId parent, std::span<const TokenId> tokens) {
  const std::vector<NodeId>& children = nodes[parent].children;
  const size_t place = LowerBound(nodes, children, tokens);
  const auto common = [&](size_t index) {
    return CommonBeginning(nodes.TokensOf(children[index]), tokens);
  };
  uint32_t longest = 0;
  if (place > 0) longest = common(place - 1);
  if (place < children.size()) longest = std::max(longest, common(place));
  if (longest == 0) return {};
  size_t first = place;
  size_t end = place;
  while (end < children.size() && end - first < kMostLookedAt && common(end) == longest) ++end;
  while (first > 0 && end - first < kMostLookedAt && common(first - 1) == longest) --first;
  return {std::span(children).subspan(first, end - first), longest};
}

NodeId LongestBeginning(const NodeTable& nodes, NodeId parent, std::span<const TokenId> tokens) {
  const std::vector<NodeId>& children = nodes[parent].children;
  std::span<const TokenId> beginning = tokens;
  for (size_t place = LowerBound(nodes, children, beginning); place > 0;
       place = LowerBound(nodes, children, beginning)) {
    // Whatever begins `tokens` comes before this neighbour, or begins it too.
    const std::span<const TokenId> neighbour = nodes.TokensOf(children[place - 1]);
    const uint32_t common = CommonBeginning(neighbour, beginning);
    if (common == neighbour.size()) return children[place - 1];
    if (common == 0) return {};
    beginning = tokens.first(common);
    // A child with just these tokens would be at LowerBound, not before it.
    const size_t exact = LowerBound(nodes, children, beginning);
    if (CommonBeginning(nodes.TokensOf(children[exact]), beginning) == common &&
        nodes[children[exact]].token_count == common) {
      return children[exact];
    }
  }
  return {};
}

std::span<const NodeId> Continuations(const NodeTable& nodes, NodeId parent,
                                      std::span<const TokenId> tokens) {
  const std::span<const NodeId> children = nodes[parent].children;
  const auto continues = [&](size_t index) {
    return CommonBeginning(nodes.TokensOf(children[index]), tokens) == tokens.size();
  };
  size_t first = LowerBound(nodes, nodes[parent].children, tokens);
  if (first < children.size() && nodes[children[first]].token_count == tokens.size() &&
      continues(first)) {
    ++first;  // the one with just these tokens
  }
  size_t end = first;
  while (end < children.size() && end - first < kMostLookedAt && continues(end)) ++end;
  return children.subspan(first, end - first);
}

}  // namespace weir
