// Random weights and rows for kernel benchmarks; the same for the same arguments, on every machine.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/thread_pool.h"
#include "quant/block_format.h"
#include "quant/matmul.h"
#include "simd/half.h"

namespace weir::bench {

// xorshift64*: cheap under an emulator, and not the standard library's to define.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t Bits() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1D;
  }
  // About normal: the sum of four uniform numbers, with a variance of 1.
  float Normal() {
    const uint64_t bits = Bits();
    int32_t sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<int16_t>(bits >> (16 * i));
    return static_cast<float>(sum) * (1.0F / 37837.0F);
  }

 private:
  uint64_t state_;
};

inline std::vector<float> RandomValues(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = random.Normal();
  return values;
}

// Random codes; scales of about 0.01.
inline PackedMatrix RandomWeights(WeightType type, uint32_t rows, uint32_t cols, ThreadPool& pool) {
  Random random(1);
  std::vector<std::byte> bytes(RowBytes(type, cols) * rows);
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const uint64_t bits = random.Bits();
    std::copy_n(reinterpret_cast<const std::byte*>(&bits), 8, &bytes[at]);
  }
  const uint16_t half = FloatToHalf(0.01F);
  const auto* small = reinterpret_cast<const std::byte*>(&half);
  const WeightTypeInfo& info = InfoOf(type);
  for (size_t at = 0; at < bytes.size(); at += info.block_bytes) {
    if (!IsQuantized(type)) {
      bytes[at + info.block_bytes - 1] = std::byte{0x3c};  // around 0.01
      continue;
    }
    const ScaleOffsets offsets = ScaleOffsetsOf(type);
    std::copy_n(small, 2, &bytes[at + offsets.scale]);
    if (offsets.small != 192) std::copy_n(small, 2, &bytes[at + 2]);
  }
  Arena arena;
  return PackedMatrix::Pack({type, rows, cols, bytes}, pool, arena);
}

}  // namespace weir::bench
