// The tile slots of one group in one tier: a slab allocated at start, O(1) allocation and release.
//
// Slot 0 is reserved ("none") and takes no memory. A tile is held through TileRef handles, counted;
// the last one frees the slot. A fresh tile holds whatever its slot held before. Knows nothing of
// requests or tokens.
//
// Ownership: the pool outlives its TileRefs. Threads: the engine thread only; planes may be read
// and written by compute threads while the engine thread waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/ids.h"
#include "kv/layout.h"

namespace weir {

class TilePool;

// One counted reference to a tile of a pool; empty when it refers to none.
class TileRef {
 public:
  TileRef() = default;
  ~TileRef();
  TileRef(TileRef&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), id_(other.id_) {}
  TileRef& operator=(TileRef&& other) noexcept;

  [[nodiscard]] TileRef Share() const;      // one more reference to the same tile
  [[nodiscard]] bool is_exclusive() const;  // no one else refers to the tile; false when empty
  [[nodiscard]] explicit operator bool() const { return pool_ != nullptr; }
  [[nodiscard]] TileId id() const { return pool_ != nullptr ? id_ : TileId(); }

 private:
  friend class TilePool;
  TileRef(TilePool* pool, TileId id) : pool_(pool), id_(id) {}
  TilePool* pool_ = nullptr;
  TileId id_;
};

class TilePool {
 public:
  // As many slots as `budget_bytes` holds. The slab is touched as tiles are first written.
  TilePool(const KvGroup& group, uint64_t budget_bytes);
  ~TilePool();  // checks that no TileRef is left
  TilePool(const TilePool&) = delete;
  TilePool& operator=(const TilePool&) = delete;

  // Empty when no slot is free: the caller evicts, queues or refuses.
  [[nodiscard]] TileRef Allocate();

  [[nodiscard]] const KvGroup& group() const { return group_; }
  [[nodiscard]] uint32_t tile_count() const {  // usable slots
    return static_cast<uint32_t>(reference_counts_.size()) - 1;
  }
  [[nodiscard]] uint32_t free_count() const { return static_cast<uint32_t>(free_.size()); }
  [[nodiscard]] uint32_t used_count() const { return tile_count() - free_count(); }
  // Most slots that were in use at one time: those beyond it were never given out.
  [[nodiscard]] uint32_t peak_count() const { return peak_count_; }
  [[nodiscard]] uint64_t bytes() const { return uint64_t{tile_count()} * group_.tile_bytes(); }
  [[nodiscard]] uint32_t reference_count(TileId id) const { return reference_counts_[id.value()]; }

  // Plane of `layer` (index in the group) of a tile.
  [[nodiscard]] std::byte* KeyPlane(TileId id, uint32_t layer) const;
  [[nodiscard]] std::byte* ValuePlane(TileId id, uint32_t layer) const;

 private:
  friend class TileRef;
  void AddReference(TileId id);
  void Release(TileId id);

  KvGroup group_;
  AlignedBytes slab_;                       // slot s at (s - 1) * tile_bytes
  std::vector<uint32_t> reference_counts_;  // by slot; [0] unused
  std::vector<TileId> free_;                // stack; slots never used lie below, lowest on top
  uint32_t peak_count_ = 0;
};

}  // namespace weir
