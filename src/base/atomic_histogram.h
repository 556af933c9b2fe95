// Counts of observations by size, written by one thread and read by others.
//
// Threads: Observe from one thread at a time, the rest from any; a reader may see an observation in
// one number and not yet in another.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir {

template <size_t kBoundCount>
class AtomicHistogram {
 public:
  // Upper bounds, rising; a last bucket takes what is above.
  explicit constexpr AtomicHistogram(const std::array<double, kBoundCount>& bounds)
      : bounds_(bounds) {}

  void Observe(double value) {
    const auto at = std::ranges::lower_bound(bounds_, value) - bounds_.begin();
    counts_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
    sum_.store(sum_.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }

  [[nodiscard]] const std::array<double, kBoundCount>& bounds() const { return bounds_; }
  [[nodiscard]] uint64_t count_in(size_t bucket) const { return counts_[bucket].load(); }
  [[nodiscard]] double sum() const { return sum_.load(); }

 private:
  std::array<double, kBoundCount> bounds_;
  std::array<std::atomic<uint64_t>, kBoundCount + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace weir
