#include "kv/layer_scratch.h"

#include "base/check.h"

namespace weir {

LayerScratch::LayerScratch(const KvGroup& group, uint32_t slot_count)
    : layer_bytes_(group.layer_bytes()),
      k_plane_bytes_(group.k_plane_bytes()),
      slot_count_(slot_count),
      slab_(slot_count * group.layer_bytes()) {
  free_.reserve(slot_count);
  for (uint32_t slot = slot_count; slot > 0; --slot) free_.push_back(slot - 1);
}

void LayerScratch::Reserve(uint32_t count, std::vector<uint32_t>& slots) {
  WEIR_CHECK(count <= free_.size());
  for (uint32_t i = 0; i < count; ++i) {
    slots.push_back(free_.back());
    free_.pop_back();
  }
}

void LayerScratch::Release(std::vector<uint32_t>& slots) {
  for (; !slots.empty(); slots.pop_back()) free_.push_back(slots.back());
  WEIR_CHECK(free_.size() <= slot_count_);
}

std::byte* LayerScratch::KeyPlane(uint32_t slot) const {
  WEIR_DCHECK(slot < slot_count_);
  return slab_.data() + slot * layer_bytes_;
}

std::byte* LayerScratch::ValuePlane(uint32_t slot) const { return KeyPlane(slot) + k_plane_bytes_; }

}  // namespace weir
