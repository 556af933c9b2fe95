// Rotary position embedding: turns pairs of a head's dimensions by position * frequency.
//
//   frequency_i = position_scale / (base^(2i / dims) * divisor_i)         f64, rounded to f32
//   (a, b) -> (a cos - b sin, b cos + a sin),  angle = position * frequency_i in f64
//
// The angle's sine and cosine are of one fixed f64 polynomial, rounded to f32: they depend on the
// position alone, on every machine (libm's results vary between its versions).
// [Su et al. 2021, arXiv 2104.09864, equation 34]
//
// Pure functions and an immutable table of frequencies; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/config.h"

namespace weir {

struct SinCos {
  float sine = 0;
  float cosine = 0;
};

// Within an f32 rounding (0.5000001 ulp) for |angle| <= 2^30.
[[nodiscard]] SinCos SinCosOf(double angle);

class Rope {
 public:
  explicit Rope(const RopeSpec& spec);

  [[nodiscard]] uint32_t pair_count() const { return static_cast<uint32_t>(frequencies_.size()); }

  // angles [pair_count], of one position.
  void AnglesOf(uint32_t position, std::span<SinCos> angles) const;

  // Turns each head of a row [heads, dim] in place; dimensions from spec.dims on pass through.
  void Turn(std::span<const SinCos> angles, uint32_t dim, std::span<float> row) const;

 private:
  RopePairing pairing_;
  std::vector<float> frequencies_;
};

}  // namespace weir
