// A bound on bytes that many holders share.
//
// Threads: the I/O thread. Ownership: the budget outlives its leases.
#pragma once

#include <cstddef>
#include <utility>

namespace weir {

class ByteBudget {
 public:
  explicit ByteBudget(size_t total) : free_(total) {}
  [[nodiscard]] size_t free() const { return free_; }

 private:
  friend class ByteLease;
  size_t free_;
};

class ByteLease {
 public:
  explicit ByteLease(ByteBudget& budget) : budget_(&budget) {}
  ~ByteLease() { Release(); }
  ByteLease(const ByteLease&) = delete;
  ByteLease& operator=(const ByteLease&) = delete;

  // Holds `bytes` in all from now on; false (and nothing changed) if the budget has no more.
  [[nodiscard]] bool GrowTo(size_t bytes) {
    if (bytes <= held_) return true;
    if (bytes - held_ > budget_->free_) return false;
    budget_->free_ -= bytes - held_;
    held_ = bytes;
    return true;
  }
  void Release() { budget_->free_ += std::exchange(held_, 0); }

 private:
  ByteBudget* budget_;
  size_t held_ = 0;
};

}  // namespace weir
