#include "base/arena.h"

#include <algorithm>

namespace weir {

ArenaBlock Arena::Take(size_t bytes) {
  if (mapping_ == nullptr || bytes > mapping_->bytes() - used_) {
    mapping_ = std::make_shared<const AlignedBytes>(std::max(bytes, kMappingBytes));
    used_ = 0;
  }
  std::byte* data = mapping_->data() + used_;
  used_ = std::min(mapping_->bytes(), used_ + (bytes + 63) / 64 * 64);
  return {mapping_, data, bytes};
}

}  // namespace weir
