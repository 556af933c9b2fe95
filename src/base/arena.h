// Cuts blocks out of few large mappings, so that small ones lie in huge pages too.
//
// Ownership: a block keeps its mapping alive; memory goes back when the last block of a mapping
// does. Threads: an Arena belongs to one; blocks may move between threads.
#pragma once

#include <cstddef>
#include <memory>

#include "base/aligned.h"

namespace weir {

// Zeroed bytes on a 64-byte boundary.
class ArenaBlock {
 public:
  ArenaBlock() = default;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  friend class Arena;
  ArenaBlock(std::shared_ptr<const AlignedBytes> mapping, std::byte* data, size_t bytes)
      : mapping_(std::move(mapping)), data_(data), bytes_(bytes) {}

  std::shared_ptr<const AlignedBytes> mapping_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

class Arena {
 public:
  // What is not taken of a mapping costs address space only.
  static constexpr size_t kMappingBytes = size_t{64} << 20;

  [[nodiscard]] ArenaBlock Take(size_t bytes);

 private:
  std::shared_ptr<const AlignedBytes> mapping_;
  size_t used_ = 0;
};

}  // namespace weir
