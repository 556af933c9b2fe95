// Length classes of waiting requests, so that short ones are not dragged by long ones.
//
// Pure values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

class LengthBuckets {
 public:
  static constexpr uint32_t kMostBuckets = 8;

  // 0-4K, 4-16K, 16-64K and above.
  LengthBuckets();
  // Upper bounds in tokens, rising, with k for 1,024 ("2k,8k,32k"); a last bucket takes what is
  // longer. kInvalidArgument otherwise.
  [[nodiscard]] static Result<LengthBuckets> Parse(std::string_view text);

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(bounds_.size()) + 1; }
  // A bound belongs to the bucket below it.
  [[nodiscard]] uint32_t IndexOf(uint32_t tokens) const;
  // Turns that a bucket gets in a round: twice those of the next longer one.
  [[nodiscard]] uint32_t WeightOf(uint32_t bucket) const { return 1U << (count() - 1 - bucket); }
  // "0-4096", "4097-16384", "65537-": for metrics.
  [[nodiscard]] std::string NameOf(uint32_t bucket) const;

 private:
  explicit LengthBuckets(std::vector<uint32_t> bounds) : bounds_(std::move(bounds)) {}
  std::vector<uint32_t> bounds_;
};

}  // namespace weir
