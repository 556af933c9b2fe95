// From a chain hash to the nodes that have it: an open-addressing table of 8 bytes a slot.
//
// Several nodes may have equal hashes (a collision); the caller decides which one it meant.
//
// Ownership: plain values. Threads: one caller.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/aligned.h"
#include "prefix/chain_hash.h"
#include "prefix/node_id.h"

namespace weir {

class HashIndex {
 public:
  explicit HashIndex(size_t expected_count = 0);

  void Add(const ChainHash& hash, NodeId node);
  void Remove(const ChainHash& hash, NodeId node);  // requires that it is there
  void Clear();
  [[nodiscard]] size_t count() const { return count_; }

  // The first node, among those whose hash may be `hash`, that `is_meant` accepts; or none.
  template <std::predicate<NodeId> IsMeant>
  [[nodiscard]] NodeId Find(const ChainHash& hash, IsMeant is_meant) const {
    const uint32_t tag = TagOf(hash);
    for (size_t slot = HomeOf(tag); slots_[slot].node != NodeId(); slot = Next(slot)) {
      if (slots_[slot].tag == tag && is_meant(slots_[slot].node)) return slots_[slot].node;
    }
    return {};
  }

 private:
  struct Slot {
    uint32_t tag = 0;  // low bits of the hash; its low bits are the slot where probing begins
    NodeId node;       // none: free
  };

  static uint32_t TagOf(const ChainHash& hash) { return static_cast<uint32_t>(hash.low); }
  [[nodiscard]] size_t HomeOf(uint32_t tag) const { return tag & (slots_.count() - 1); }
  [[nodiscard]] size_t Next(size_t slot) const { return (slot + 1) & (slots_.count() - 1); }
  void Place(Slot entry);
  void Grow();
  void CloseGap(size_t gap);

  AlignedArray<Slot> slots_;  // a power of two, at most half full
  size_t count_ = 0;
};

}  // namespace weir
