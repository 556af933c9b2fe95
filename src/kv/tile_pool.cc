#include "kv/tile_pool.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace weir {
namespace {

uint64_t SlotCount(const KvGroup& group, uint64_t budget_bytes) {
  WEIR_CHECK(group.tile_bytes() > 0);
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max() - 1;  // TileId is 32 bits
  return std::min(budget_bytes / group.tile_bytes(), kMost);
}

}  // namespace

TileRef::~TileRef() {
  if (pool_ != nullptr) pool_->Release(id_);
}

TileRef& TileRef::operator=(TileRef&& other) noexcept {
  TileRef taken(std::move(other));  // dies with what *this held
  std::swap(pool_, taken.pool_);
  std::swap(id_, taken.id_);
  return *this;
}

TileRef TileRef::Share() const {
  if (pool_ == nullptr) return {};
  pool_->AddReference(id_);
  return {pool_, id_};
}

bool TileRef::is_exclusive() const { return pool_ != nullptr && pool_->reference_count(id_) == 1; }

TilePool::TilePool(const KvGroup& group, uint64_t budget_bytes)
    : group_(group),
      slab_(SlotCount(group, budget_bytes) * group.tile_bytes()),
      reference_counts_(SlotCount(group, budget_bytes) + 1) {
  free_.reserve(tile_count());
  for (uint32_t slot = tile_count(); slot > 0; --slot) free_.emplace_back(slot);
}

TilePool::~TilePool() { WEIR_CHECK(used_count() == 0); }

TileRef TilePool::Allocate() {
  if (free_.empty()) return {};
  const TileId id = free_.back();
  free_.pop_back();
  reference_counts_[id.value()] = 1;
  peak_count_ = std::max(peak_count_, used_count());
  return {this, id};
}

void TilePool::AddReference(TileId id) {
  WEIR_CHECK(reference_counts_[id.value()] > 0);
  ++reference_counts_[id.value()];
}

void TilePool::Release(TileId id) {
  WEIR_CHECK(reference_counts_[id.value()] > 0);
  if (--reference_counts_[id.value()] == 0) free_.push_back(id);
}

std::byte* TilePool::KeyPlane(TileId id, uint32_t layer) const {
  WEIR_DCHECK(id != TileId() && id.value() <= tile_count() && layer < group_.layer_count);
  return slab_.data() + (id.value() - 1) * group_.tile_bytes() + layer * group_.layer_bytes();
}

std::byte* TilePool::ValuePlane(TileId id, uint32_t layer) const {
  return KeyPlane(id, layer) + group_.k_plane_bytes();
}

}  // namespace weir
