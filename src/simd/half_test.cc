#include "simd/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace weir {
namespace {

TEST(Half, KnownBitPatternsConvertBothWays) {
  // From IEEE 754 binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits.
  const struct {
    uint16_t half;
    float value;
  } cases[] = {
      {0x0000, 0.0F},      {0x3c00, 1.0F},       {0xc000, -2.0F},    {0x7bff, 65504.0F},
      {0x0001, 0x1p-24F},  {0x03ff, 0x3ffp-24F}, {0x0400, 0x1p-14F}, {0x3555, 0x1.554p-2F},
      {0x8001, -0x1p-24F}, {0xfbff, -65504.0F},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(HalfToFloat(c.half), c.value) << std::hex << c.half;
    EXPECT_EQ(FloatToHalf(c.value), c.half) << c.value;
  }
  EXPECT_TRUE(std::signbit(HalfToFloat(0x8000)));
  EXPECT_TRUE(std::isinf(HalfToFloat(0x7c00)));
  EXPECT_TRUE(std::isnan(HalfToFloat(0x7c01)));
}

TEST(Half, EveryFiniteHalfSurvivesTheRoundTrip) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7c00U) == 0x7c00U) continue;
    ASSERT_EQ(FloatToHalf(HalfToFloat(static_cast<uint16_t>(half))), half);
  }
}

TEST(Half, RoundsToNearestEvenBetweenEveryTwoNeighbours) {
  for (uint32_t half = 0; half < 0x7bff; ++half) {
    const float low = HalfToFloat(static_cast<uint16_t>(half));
    const float high = HalfToFloat(static_cast<uint16_t>(half + 1));
    const float middle = low + (high - low) / 2.0F;  // exact
    ASSERT_EQ(FloatToHalf(middle), half + (half & 1U)) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(FloatToHalf(std::nextafter(middle, 1e9F)), half + 1) << half;
  }
}

TEST(Half, SaturatesBeyondItsRangeAndKeepsNaN) {
  EXPECT_EQ(FloatToHalf(65520.0F), 0x7bff);
  EXPECT_EQ(FloatToHalf(-1e30F), 0xfbff);
  EXPECT_EQ(FloatToHalf(std::numeric_limits<float>::infinity()), 0x7bff);
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Half, BFloatIsTheUpperHalfOfAFloat) {
  EXPECT_EQ(BFloatToFloat(0x3f80), 1.0F);
  EXPECT_EQ(BFloatToFloat(0xc040), -3.0F);
}

}  // namespace
}  // namespace weir
