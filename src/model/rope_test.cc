#include "model/rope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir {
namespace {

constexpr double kPi = 3.14159265358979323846;

TEST(SinCosOf, IsTheRoundedSineAndCosine) {
  // glibc's f64 functions are right to 1 ulp of f64.
  for (double angle = 0; angle < 2e6; angle = angle * 1.01 + 0.013) {
    const SinCos got = SinCosOf(angle);
    EXPECT_NEAR(got.sine, std::sin(angle), 6.1e-8) << angle;  // 2^-24 and a little
    EXPECT_NEAR(got.cosine, std::cos(angle), 6.1e-8) << angle;
  }
}

TEST(SinCosOf, TurnsThroughAllQuarters) {
  for (int quarter = 0; quarter < 8; ++quarter) {
    const SinCos got = SinCosOf(quarter * kPi / 2);
    const float sines[] = {0, 1, 0, -1};
    EXPECT_NEAR(got.sine, sines[quarter % 4], 1e-15) << quarter;
    EXPECT_NEAR(got.cosine, sines[(quarter + 1) % 4], 1e-15) << quarter;
  }
}

std::vector<float> TurnedAt(uint32_t position, const RopeSpec& spec, uint32_t dim,
                            std::vector<float> row) {
  const Rope rope(spec);
  std::vector<SinCos> angles(rope.pair_count());
  rope.AnglesOf(position, angles);
  rope.Turn(angles, dim, row);
  return row;
}

// Base 100 over 4 dimensions: frequencies 1 and 1/10.
TEST(Rope, TurnsHalvesAgainstEachOther) {
  const auto row = TurnedAt(
      3, {.dims = 4, .base = 100, .pairing = RopePairing::kHalves, .frequency_divisors = {}}, 4,
      {1, 2, 0, 0});
  EXPECT_NEAR(row[0], std::cos(3.0), 1e-6);
  EXPECT_NEAR(row[2], std::sin(3.0), 1e-6);
  EXPECT_NEAR(row[1], 2 * std::cos(0.3), 1e-6);
  EXPECT_NEAR(row[3], 2 * std::sin(0.3), 1e-6);
}

TEST(Rope, TurnsNeighboursAgainstEachOther) {
  const auto row = TurnedAt(
      3, {.dims = 4, .base = 100, .pairing = RopePairing::kInterleaved, .frequency_divisors = {}},
      4, {0, 1, 2, 0});
  EXPECT_NEAR(row[0], -std::sin(3.0), 1e-6);
  EXPECT_NEAR(row[1], std::cos(3.0), 1e-6);
  EXPECT_NEAR(row[2], 2 * std::cos(0.3), 1e-6);
  EXPECT_NEAR(row[3], 2 * std::sin(0.3), 1e-6);
}

TEST(Rope, LeavesDimensionsBeyondItsOwnAloneInEveryHead) {
  const auto row = TurnedAt(7, {.dims = 2, .base = 10000, .frequency_divisors = {}}, 4,
                            {1, 0, 5, 6, 0, 1, 7, 8});
  EXPECT_NEAR(row[0], std::cos(7.0), 1e-6);
  EXPECT_NEAR(row[1], std::sin(7.0), 1e-6);
  EXPECT_EQ(row[2], 5);
  EXPECT_EQ(row[3], 6);
  EXPECT_NEAR(row[4], -std::sin(7.0), 1e-6);
  EXPECT_NEAR(row[5], std::cos(7.0), 1e-6);
  EXPECT_EQ(row[6], 7);
  EXPECT_EQ(row[7], 8);
}

TEST(Rope, ScalesPositionsAndDividesFrequencies) {
  const RopeSpec spec{
      .dims = 4, .base = 100, .position_scale = 0.125F, .frequency_divisors = {1, 4}};
  const auto row = TurnedAt(8, spec, 4, {1, 1, 0, 0});
  EXPECT_NEAR(row[2], std::sin(1.0), 1e-6);
  EXPECT_NEAR(row[3], std::sin(1.0 / 40), 1e-6);
}

}  // namespace
}  // namespace weir
