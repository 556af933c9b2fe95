// The merge loop that both kinds of byte-pair encoding share.
//
// Symbols are a doubly linked list over one piece of text. Of all adjacent pairs that a rule can
// join, the one of the best priority is joined first, the leftmost of equals, until none is left.
// A heap holds the pairs; a pair whose symbols have changed since is recognised when it comes out
// and dropped. At most 3n pairs are ever tried for n symbols: O(n log n), whatever the text.
//
// Threads: a MergeWorkspace belongs to one call; it is reused to keep its memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace weir {

inline constexpr uint32_t kNoSymbol = UINT32_MAX;
inline constexpr int32_t kNoToken = -1;

struct MergeSymbol {
  uint32_t begin = 0;        // byte offset in the text
  uint32_t byte_count = 0;   // 0: joined into a symbol on its left
  int32_t token = kNoToken;  // kNoToken: not known (yet)
  uint32_t previous = kNoSymbol;
  uint32_t next = kNoSymbol;
};

struct MergedPair {
  uint32_t priority;  // smaller is sooner
  int32_t token;
};

struct MergeWorkspace {
  struct QueuedPair {
    uint64_t order;       // priority, then the left symbol's index
    uint32_t byte_count;  // of both symbols when queued; any later change makes it larger
    int32_t token;
    bool operator>(const QueuedPair& other) const { return order > other.order; }
  };
  std::vector<MergeSymbol> symbols;
  std::vector<QueuedPair> queue;
  uint64_t pairs_tried = 0;  // over the workspace's life: what tests hold against the text's length

  // Appends a symbol to the right of the others. Requires byte_count > 0.
  void Append(uint32_t begin, uint32_t byte_count, int32_t token) {
    const auto index = static_cast<uint32_t>(symbols.size());
    if (index > 0) symbols.back().next = index;
    symbols.push_back({begin, byte_count, token, index == 0 ? kNoSymbol : index - 1, kNoSymbol});
  }
};

// Joins what `rule` can join. `rule(left, right)` gives std::optional<MergedPair>, a function of
// the two symbols' tokens or texts alone. The live symbols are those reached from index 0 by next.
template <class Rule>
void MergeSymbols(const Rule& rule, MergeWorkspace& workspace) {
  auto& symbols = workspace.symbols;
  auto& queue = workspace.queue;
  queue.clear();
  const auto pair_at = [&](uint32_t left) -> std::optional<MergeWorkspace::QueuedPair> {
    const MergeSymbol& l = symbols[left];
    const MergeSymbol& r = symbols[l.next];
    ++workspace.pairs_tried;
    const std::optional<MergedPair> pair = rule(l, r);
    if (!pair) return std::nullopt;
    return MergeWorkspace::QueuedPair{uint64_t{pair->priority} << 32 | left,
                                      l.byte_count + r.byte_count, pair->token};
  };

  for (uint32_t left = 0; left + 1 < symbols.size(); ++left) {
    if (const auto pair = pair_at(left)) queue.push_back(*pair);
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const MergeWorkspace::QueuedPair best = queue.back();
    queue.pop_back();
    const auto left = static_cast<uint32_t>(best.order);
    MergeSymbol& l = symbols[left];
    if (l.byte_count == 0 || l.next == kNoSymbol) continue;
    MergeSymbol& r = symbols[l.next];
    if (l.byte_count + r.byte_count != best.byte_count) continue;

    l.byte_count = best.byte_count;
    l.token = best.token;
    l.next = r.next;
    r.byte_count = 0;
    if (l.next != kNoSymbol) symbols[l.next].previous = left;
    for (const uint32_t changed : {l.previous, l.next == kNoSymbol ? kNoSymbol : left}) {
      if (changed == kNoSymbol) continue;
      if (const auto pair = pair_at(changed)) {
        queue.push_back(*pair);
        std::push_heap(queue.begin(), queue.end(), std::greater<>());
      }
    }
  }
}

}  // namespace weir
