#include "prefix/hash_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace weir {

HashIndex::HashIndex(size_t expected_count) : slots_(std::bit_ceil(2 * expected_count + 8)) {}

void HashIndex::Add(const ChainHash& hash, NodeId node) {
  if (2 * (count_ + 1) > slots_.count()) Grow();
  Place({TagOf(hash), node});
  ++count_;
}

void HashIndex::Place(Slot entry) {
  size_t slot = HomeOf(entry.tag);
  while (slots_[slot].node != NodeId()) slot = Next(slot);
  slots_[slot] = entry;
}

void HashIndex::Grow() {
  AlignedArray<Slot> old(2 * slots_.count());
  std::swap(old, slots_);
  for (const Slot& entry : old.span()) {
    if (entry.node != NodeId()) Place(entry);
  }
}

void HashIndex::Remove(const ChainHash& hash, NodeId node) {
  size_t slot = HomeOf(TagOf(hash));
  while (slots_[slot].node != node) {
    WEIR_CHECK(slots_[slot].node != NodeId());
    slot = Next(slot);
  }
  CloseGap(slot);
  --count_;
}

// Moves later entries of the run back, so that none lies behind a free slot when probed for.
void HashIndex::CloseGap(size_t gap) {
  slots_[gap] = {};
  for (size_t slot = Next(gap); slots_[slot].node != NodeId(); slot = Next(slot)) {
    const size_t mask = slots_.count() - 1;
    const size_t from_home = (slot - HomeOf(slots_[slot].tag)) & mask;
    if (from_home < ((slot - gap) & mask)) continue;  // the gap lies before its home
    slots_[gap] = std::exchange(slots_[slot], {});
    gap = slot;
  }
}

void HashIndex::Clear() {
  std::ranges::fill(slots_.span(), Slot{});
  count_ = 0;
}

}  // namespace weir
