#include "simd/vector_ops.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "simd/isa.h"
#include "simd/math.h"

namespace weir {
namespace {

std::vector<float> Random(size_t count, float range, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-range, range);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(generator);
  return values;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Restores the path of the process when a test ends.
struct IsaGuard {
  Isa before = ChosenIsa();
  ~IsaGuard() { (void)ForceIsa(before); }
};

// Runs `operation` on every path and demands the scalar path's bits.
void ExpectSameOnEveryIsa(const std::function<std::vector<float>()>& operation) {
  const IsaGuard guard;
  ASSERT_TRUE(ForceIsa(Isa::kScalar));
  const std::vector<float> expected = operation();
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    EXPECT_TRUE(SameBits(operation(), expected)) << NameOf(isa);
  }
}

TEST(VectorOps, EveryIsaHasTheScalarBitsAtAnyLengthAndAlignment) {
  for (const size_t count : {1, 7, 8, 15, 16, 17, 31, 64, 100, 257, 640}) {
    for (const size_t offset : {0, 1, 3}) {
      SCOPED_TRACE(testing::Message() << "count " << count << " offset " << offset);
      const auto x_store = Random(count + offset, 12.0F, 1);
      const auto y_store = Random(count + offset, 3.0F, 2);
      const auto x = std::span(x_store).subspan(offset);
      const auto y = std::span(y_store).subspan(offset);
      using Body = std::function<void(std::span<float>)>;
      const std::vector<Body> bodies = {
          [&](std::span<float> out) { out[0] = SumOfSquares(x); },
          [&](std::span<float> out) { out[0] = Dot(x, y); },
          [&](std::span<float> out) { RmsNorm(x, y, 1e-6F, out); },
          [&](std::span<float> out) { RmsNorm(x, {}, 1e-6F, out); },
          [&](std::span<float> out) { AddInPlace(x, out); },
          [&](std::span<float> out) { AddScaled(x, 0.3F, out); },
          [&](std::span<float> out) { Scale(1.7F, out); },
          [&](std::span<float> out) { SiluMul(x, y, out); },
          [&](std::span<float> out) { GeluTanhMul(x, y, out); },
          [&](std::span<float> out) { Softcap(5.0F, out); },
          [&](std::span<float> out) { out[0] = ExpAndSum(2.0F, out.subspan(0)); },
      };
      for (size_t index = 0; index < bodies.size(); ++index) {
        SCOPED_TRACE(testing::Message() << "operation " << index);
        ExpectSameOnEveryIsa([&] {
          std::vector<float> out(y_store);
          bodies[index](std::span(out).subspan(offset));
          return out;
        });
      }
    }
  }
}

TEST(VectorOps, ReductionsFoldSixteenPartialSumsPairwise) {
  // Lane 0 holds 2^24 and later 1s: adding them there one by one would lose every one of them.
  std::vector<float> ones(16 * 9, 0.0F);
  ones[0] = 4096.0F;  // squared: 2^24
  for (size_t i = 1; i < ones.size(); ++i) ones[i] = 1.0F;
  // Lane 0: 2^24 (its eight ones are lost to rounding); lanes 1..15: 9 each.
  // Fold: 15 * 9 = 135 reaches lane 0 in steps 9, 18, 36, 72, each rounded to even at 2^24.
  //   2^24 + 9 -> 2^24 + 8; + 18 -> +26; + 36 -> +62; + 72 -> +134
  EXPECT_EQ(SumOfSquares(ones), 16777216.0F + 134.0F);
}

TEST(VectorOps, RmsNormDividesByTheRootMeanSquare) {
  const std::vector<float> x = {3.0F, -4.0F, 0.0F, 5.0F};  // mean square 12.5
  const std::vector<float> weight = {1.0F, 2.0F, 3.0F, -1.0F};
  std::vector<float> out(4);
  RmsNorm(x, weight, 0.0F, out);
  const double rms = std::sqrt(12.5);
  EXPECT_NEAR(out[0], 3.0 / rms, 1e-6);
  EXPECT_NEAR(out[1], -8.0 / rms, 1e-6);
  EXPECT_EQ(out[2], 0.0F);
  EXPECT_NEAR(out[3], -5.0 / rms, 1e-6);
}

// The largest relative error of `f` against `reference` (in f64) over [low, high]; infinite where
// `f` gives no number.
double WorstError(float (*f)(float), double (*reference)(double), float low, float high) {
  double worst = 0.0;
  const int steps = 400000;
  for (int i = 0; i <= steps; ++i) {
    const float x = low + (high - low) * (static_cast<float>(i) / steps);
    const double expected = reference(static_cast<double>(x));
    if (expected == 0.0) continue;
    const double error = std::abs((f(x) - expected) / expected);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  return worst;
}

TEST(Math, ExpKeepsItsErrorBound) {
  EXPECT_LT(WorstError(Exp, std::exp, -87.0F, 88.0F), 1.5e-7);
  EXPECT_LT(WorstError(Exp, std::exp, -1.0F, 1.0F), 1.5e-7);
}

TEST(Math, TanhKeepsItsErrorBound) {
  EXPECT_LT(WorstError(Tanh, std::tanh, -12.0F, 12.0F), 3e-7);
  EXPECT_LT(WorstError(Tanh, std::tanh, -0.7F, 0.7F), 3e-7);
}

TEST(Math, SiluAndGeluKeepTheirErrorBounds) {
  const auto silu = [](double x) { return x / (1.0 + std::exp(-x)); };
  const auto gelu = [](double x) {
    const double u = std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x);
    return x / (1.0 + std::exp(-2.0 * u));
  };
  EXPECT_LT(WorstError(Silu, silu, -20.0F, 20.0F), 1e-6);
  // The error of u is multiplied by u itself in the tail: 10 roundings at u = -20.
  EXPECT_LT(WorstError(GeluTanh, gelu, -5.0F, 8.0F), 4e-6);
}

TEST(Math, ExtremesSaturateAndNaNStays) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const IsaGuard guard;
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(NameOf(isa));
    ASSERT_TRUE(ForceIsa(isa));
    std::vector<float> x = {-infinity, -1e30F, -87.1F, 0.0F, -0.0F, 88.0F, 1e30F, infinity, nan};
    ExpAndSum(0.0F, x);
    EXPECT_EQ(x[0], 0.0F);
    EXPECT_EQ(x[1], 0.0F);
    EXPECT_EQ(x[2], 0.0F);
    EXPECT_EQ(x[3], 1.0F);
    EXPECT_EQ(x[4], 1.0F);
    EXPECT_EQ(x[5], x[6]);
    EXPECT_EQ(x[6], x[7]);
    EXPECT_TRUE(std::isnan(x[8]));
    std::vector<float> capped = {-infinity, infinity, 1e-30F, nan, -1e-40F};
    Softcap(30.0F, capped);
    EXPECT_EQ(capped[0], -30.0F);
    EXPECT_EQ(capped[1], 30.0F);
    EXPECT_NEAR(capped[2], 1e-30F, 1e-36F);
    EXPECT_TRUE(std::isnan(capped[3]));
    EXPECT_LE(capped[4], 0.0F);
  }
}

}  // namespace
}  // namespace weir
