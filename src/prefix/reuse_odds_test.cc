#include "prefix/reuse_odds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "support/seed.h"

namespace weir {
namespace {

constexpr uint32_t kPhases = ReuseOdds::kPhaseCount;
constexpr double kMany = 1e4;  // what is seen of so many outweighs the prior (and is not halved)

double LengthOf(uint32_t phase) { return phase == 0 ? 1 : std::pow(2, phase - 1); }

TEST(ReuseOdds, PhasesAreDoublingsOfTheAge) {
  EXPECT_EQ(ReuseOdds::PhaseOf(0), 0U);
  EXPECT_EQ(ReuseOdds::PhaseOf(1), 1U);
  EXPECT_EQ(ReuseOdds::PhaseOf(2), 2U);
  EXPECT_EQ(ReuseOdds::PhaseOf(3), 2U);
  EXPECT_EQ(ReuseOdds::PhaseOf(4), 3U);
  EXPECT_EQ(ReuseOdds::PhaseOf(~uint64_t{0}), kPhases - 1);
}

TEST(ReuseOdds, BeforeAnythingIsSeenTheLongerUnusedIsWorthLess) {
  const ReuseOdds odds(std::array{0.1});
  EXPECT_EQ(odds.PeakOf(0), 0U);
  EXPECT_EQ(odds.Worth(0, 1), odds.Worth(0, 0));  // phases of one time unit each
  for (uint32_t phase = 2; phase < kPhases; ++phase) {
    EXPECT_LT(odds.Worth(0, phase), odds.Worth(0, phase - 1));
  }
}

TEST(ReuseOdds, WhatIsUsedAfterAFixedTimeIsWorthMostJustBefore) {
  // Phases   0 [0,1)   1 [1,2)   2 [2,4)   3 [4,8)   4 ...
  // used       0         0         0        all
  // From the start: 1 use in 1 + 1 + 2 + 4/2 = 6 units, from phase 3 on: 1 in 2.
  ReuseOdds odds(std::array{1e-9});
  odds.NoteWait(0, 0, 4, kMany);
  odds.NoteUse(0, 3, kMany);
  odds.Learn();
  EXPECT_EQ(odds.PeakOf(0), 3U);
  EXPECT_NEAR(odds.Worth(0, 0), 1.0 / 6, 1e-3);
  EXPECT_NEAR(odds.Worth(0, 1), 1.0 / 5, 1e-3);
  EXPECT_NEAR(odds.Worth(0, 2), 1.0 / 4, 1e-3);
  EXPECT_NEAR(odds.Worth(0, 3), 1.0 / 2, 1e-3);
  EXPECT_LT(odds.Worth(0, 4), 1e-3);
}

TEST(ReuseOdds, KeepingIsGivenUpWhenTheRestWouldTakeTooLong) {
  // Half is used at age 0, the other half at ages [512, 1024). Best from the start: give up after
  // phase 0, 0.5 uses in 1 - 0.5/2 units.
  ReuseOdds odds(std::array{1e-9});
  odds.NoteWait(0, 0, 1, kMany);
  odds.NoteWait(0, 1, 11, kMany / 2);
  odds.NoteUse(0, 0, kMany / 2);
  odds.NoteUse(0, 10, kMany / 2);
  odds.Learn();
  EXPECT_NEAR(odds.Worth(0, 0), 0.5 / 0.75, 1e-3);
}

TEST(ReuseOdds, KindsAreCountedApart) {
  ReuseOdds odds(std::array{0.05, 0.05});
  odds.NoteWait(0, 0, 8, kMany);
  odds.NoteWait(1, 0, 1, kMany);
  odds.NoteUse(1, 0, kMany);
  odds.Learn();
  EXPECT_LT(odds.Worth(0, 0), 0.01);
  EXPECT_GT(odds.Worth(1, 0), 1.0);  // used in half a unit
}

TEST(ReuseOdds, AKindOfWhichNothingWasSeenIsTakenForOneOfItsFamily) {
  ReuseOdds odds(std::array{0.05, 0.05, 0.05, 0.05}, 2);
  odds.NoteWait(0, 0, 1, kMany);
  odds.NoteUse(0, 0, kMany);
  odds.Learn();
  EXPECT_GT(odds.Worth(1, 0), 1.0);
  EXPECT_LT(odds.Worth(2, 0), 0.1);  // of another family
  odds.NoteWait(1, 0, 8, 100);       // it turns out different: (0 + 8 * ~1) / (100 + 8)
  odds.Learn();
  EXPECT_LT(odds.Worth(1, 0), 0.1);
  EXPECT_GT(odds.Worth(0, 0), 1.0);
}

TEST(ReuseOdds, ForgetsWhatIsLongPast) {
  ReuseOdds odds(std::array{0.05});
  for (int i = 0; i < 40; ++i) {  // always used at once
    odds.NoteWait(0, 0, 1, 1000);
    odds.NoteUse(0, 0, 1000);
    odds.Learn();
  }
  const double before = odds.Worth(0, 0);
  for (int i = 0; i < 40; ++i) {  // never
    odds.NoteWait(0, 0, kPhases, 1000);
    odds.Learn();
  }
  EXPECT_GT(before, 1.0);
  EXPECT_LT(odds.Worth(0, 0), 0.5 * before);
}

// The definition, term by term: for each q the chance of a use and the time, summed anew.
double BestRate(const std::array<double, kPhases>& chance, uint32_t begin) {
  double best = 0;
  for (uint32_t q = begin; q < kPhases; ++q) {
    double uses = 0;
    double time = 0;
    for (uint32_t p = begin; p <= q; ++p) {
      double waits = 1;
      for (uint32_t before = begin; before < p; ++before) waits *= 1 - chance[before];
      uses += waits * chance[p];
      time += waits * (chance[p] * LengthOf(p) / 2 + (1 - chance[p]) * LengthOf(p));
    }
    best = std::max(best, uses / time);
  }
  return best;
}

TEST(ReuseOdds, AreTheBestRateSmoothedToOnePeak) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    ReuseOdds odds(std::array{0.05});
    std::array<double, kPhases> chance{};
    for (uint32_t phase = 0; phase < kPhases; ++phase) {
      const auto came = static_cast<double>(random() % 200);
      const auto used = std::floor(came * static_cast<double>(random() % 100) / 100);
      odds.NoteWait(0, phase, phase + 1, came);
      odds.NoteUse(0, phase, used);
      chance[phase] = (used + 8 * 0.05) / (came + 8);
    }
    odds.Learn();
    std::array<double, kPhases> rates{};
    for (uint32_t phase = 0; phase < kPhases; ++phase) rates[phase] = BestRate(chance, phase);
    const auto peak = std::max_element(rates.begin(), rates.end());
    EXPECT_EQ(odds.PeakOf(0), static_cast<uint32_t>(peak - rates.begin()));
    for (uint32_t phase = 0; phase < kPhases; ++phase) {
      // Rising to the peak, then falling: the least such curve above the rates.
      const bool rises = phase <= static_cast<uint32_t>(peak - rates.begin());
      const double expected = rises ? *std::max_element(rates.begin(), rates.begin() + phase + 1)
                                    : *std::max_element(rates.begin() + phase, rates.end());
      EXPECT_NEAR(odds.Worth(0, phase), expected, 1e-12 + 1e-9 * expected) << phase;
    }
  }
}

}  // namespace
}  // namespace weir
