// Draws that are the same with every standard library (its distributions are not).
#pragma once

#include <cmath>
#include <cstdint>

namespace weir {

// splitmix64: a good mix of 64 bits into 64.
[[nodiscard]] inline uint64_t MixBits(uint64_t bits) {
  bits += 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31);
}

class SeededDraws {
 public:
  explicit SeededDraws(uint64_t seed) : state_(MixBits(seed)) {}

  uint64_t Bits() { return MixBits(state_++); }
  // 0 <= x < 1.
  double Unit() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  // 0 <= n < count; the bias is below count / 2^64.
  uint64_t Below(uint64_t count) { return Bits() % count; }
  // Time to the next of events that come independently of each other.
  double ExponentialSeconds(double rate_per_s) { return -std::log1p(-Unit()) / rate_per_s; }

 private:
  uint64_t state_;
};

}  // namespace weir
