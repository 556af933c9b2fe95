#include "kv/window_scratch.h"

#include "base/check.h"

namespace weir {

WindowScratch::WindowScratch(const KvGroup& group, uint32_t slot_count)
    : layer_bytes_(group.layer_bytes()),
      k_plane_bytes_(group.k_plane_bytes()),
      slot_count_(slot_count),
      slab_(slot_count * group.layer_bytes()) {
  free_.reserve(slot_count);
  for (uint32_t slot = slot_count; slot > 0; --slot) free_.push_back(slot - 1);
}

void WindowScratch::Reserve(uint32_t count, std::vector<uint32_t>& slots) {
  WEIR_CHECK(count <= free_.size());
  for (uint32_t i = 0; i < count; ++i) {
    slots.push_back(free_.back());
    free_.pop_back();
  }
}

void WindowScratch::Release(std::vector<uint32_t>& slots) {
  for (; !slots.empty(); slots.pop_back()) free_.push_back(slots.back());
  WEIR_CHECK(free_.size() <= slot_count_);
}

std::byte* WindowScratch::KeyPlane(uint32_t slot) const {
  WEIR_DCHECK(slot < slot_count_);
  return slab_.data() + slot * layer_bytes_;
}

std::byte* WindowScratch::ValuePlane(uint32_t slot) const {
  return KeyPlane(slot) + k_plane_bytes_;
}

}  // namespace weir
