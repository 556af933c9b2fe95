#include "model/rope.h"

#include <cmath>

namespace weir {
namespace {

// pi/2 = kHalfPi + kHalfPiRest to 107 bits.
constexpr double kHalfPi = 0x1.921fb54442d18p+0;
constexpr double kHalfPiRest = 0x1.1a62633145c07p-54;
constexpr double kPerHalfPi = 0x1.45f306dc9c883p-1;
constexpr double kRoundToInt = 0x1.8p52;  // adding it leaves an integer

// Taylor series on [-pi/4, pi/4]; the first terms left out are below 4e-13.
double SineNearZero(double r) {
  const double t = r * r;
  double p = 1.0 / 6227020800.0;
  p = p * t - 1.0 / 39916800.0;
  p = p * t + 1.0 / 362880.0;
  p = p * t - 1.0 / 5040.0;
  p = p * t + 1.0 / 120.0;
  p = p * t - 1.0 / 6.0;
  return r + r * (t * p);
}

double CosineNearZero(double r) {
  const double t = r * r;
  double p = 1.0 / 479001600.0;
  p = p * t - 1.0 / 3628800.0;
  p = p * t + 1.0 / 40320.0;
  p = p * t - 1.0 / 720.0;
  p = p * t + 1.0 / 24.0;
  p = p * t - 0.5;
  return 1.0 + t * p;
}

}  // namespace

SinCos SinCosOf(double angle) {
  const double quarters = (angle * kPerHalfPi + kRoundToInt) - kRoundToInt;
  const double r = std::fma(-quarters, kHalfPiRest, std::fma(-quarters, kHalfPi, angle));
  const auto sine = static_cast<float>(SineNearZero(r));
  const auto cosine = static_cast<float>(CosineNearZero(r));
  switch (static_cast<int64_t>(quarters) & 3) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

Rope::Rope(const RopeSpec& spec) : pairing_(spec.pairing) {
  for (uint32_t i = 0; i < spec.dims / 2; ++i) {
    const double divisor = spec.frequency_divisors.empty() ? 1.0 : spec.frequency_divisors[i];
    const double period = std::pow(double{spec.base}, 2.0 * i / spec.dims) * divisor;
    frequencies_.push_back(static_cast<float>(spec.position_scale / period));
  }
}

void Rope::AnglesOf(uint32_t position, std::span<SinCos> angles) const {
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    angles[i] = SinCosOf(double{frequencies_[i]} * position);
  }
}

void Rope::Turn(std::span<const SinCos> angles, uint32_t dim, std::span<float> row) const {
  const uint32_t pairs = pair_count();
  const bool is_interleaved = pairing_ == RopePairing::kInterleaved;
  const uint32_t step = is_interleaved ? 2 : 1;
  const uint32_t partner = is_interleaved ? 1 : pairs;
  for (size_t head = 0; head < row.size(); head += dim) {
    float* x = row.data() + head;
    for (uint32_t i = 0; i < pairs; ++i) {
      const float a = x[i * step];
      const float b = x[i * step + partner];
      x[i * step] = a * angles[i].cosine - b * angles[i].sine;
      x[i * step + partner] = b * angles[i].cosine + a * angles[i].sine;
    }
  }
}

}  // namespace weir
