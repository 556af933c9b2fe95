#include "sched/step_pace.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(StepPace, KnowsNothingBeforeTheFirstPrefill) {
  StepPace pace;
  EXPECT_FALSE(pace.is_known());
  pace.Record(4, 0, 0, 0.02);
  EXPECT_FALSE(pace.is_known());
  pace.Record(0, 64, 32, 0.064);
  EXPECT_TRUE(pace.is_known());
}

TEST(StepPace, TakesOneDepthForAFlatCost) {
  StepPace pace;
  pace.Record(0, 100, 50, 0.1);  // 1 ms a token
  EXPECT_NEAR(pace.PrefillSeconds({.first_position = 10'000, .tokens = 10}), 0.01, 1e-9);
  EXPECT_NEAR(pace.TokensIn(0.25, 0), 250, 1e-6);
}

TEST(StepPace, FindsWhatATokenCostsAtEachDepth) {
  // 1 ms a token and 0.1 us more for each position before it: at 10,000 it is 2 ms.
  StepPace pace;
  for (const uint32_t first : {0U, 4000U, 8000U, 1000U}) {
    const PrefillRun run{.first_position = first, .tokens = 200};
    pace.Record(0, run.tokens, run.depth(), run.tokens * (1e-3 + 1e-7 * run.depth()));
  }
  EXPECT_NEAR(pace.PrefillSeconds({.first_position = 9'950, .tokens = 100}), 0.2, 1e-6);
  EXPECT_NEAR(pace.TokensIn(0.2, 9'950), 100, 1e-3);
  EXPECT_NEAR(pace.TokensIn(pace.PrefillSeconds({.first_position = 0, .tokens = 5000}), 0), 5000,
              1e-3);
}

TEST(StepPace, DecodeRowsBesideDoNotCountAsPrefill) {
  StepPace pace;
  pace.Record(8, 0, 0, 0.03);
  pace.Record(8, 100, 50, 0.13);
  EXPECT_NEAR(pace.PrefillSeconds({.first_position = 0, .tokens = 100}), 0.1, 1e-9);
}

TEST(StepPace, DecodeRowsCostMoreWhenThereAreMore) {
  // 10 ms and 2 ms a row; seen at 1 and 8 rows, asked at 16.
  StepPace pace;
  pace.Record(1, 0, 0, 0.012);
  pace.Record(8, 0, 0, 0.026);
  pace.Record(16, 100, 50, 0.042 + 0.1);
  EXPECT_NEAR(pace.PrefillSeconds({.first_position = 0, .tokens = 100}), 0.1, 1e-9);
}

// 15 ms a step and 1 ms a token: a chunk of 8 tokens does not make tokens look dearer.
TEST(StepPace, WhatAStepCostsAnyhowIsNoTokensCost) {
  StepPace pace;
  pace.Record(1, 0, 0, 0.016);
  pace.Record(11, 0, 0, 0.026);
  for (int i = 0; i < 50; ++i) pace.Record(0, 16, 8, 0.015 + 0.016);
  EXPECT_NEAR(pace.TokensIn(0.1, 0), 100, 1e-6);
}

TEST(StepPace, FollowsAMachineThatBecomesSlower) {
  StepPace pace;
  pace.Record(0, 500, 250, 0.5);
  for (int i = 0; i < 50; ++i) pace.Record(0, 500, 250, 1.0);
  EXPECT_NEAR(pace.PrefillSeconds({.first_position = 0, .tokens = 500}), 1.0, 0.01);
}

TEST(StepPace, NoMeasurementMakesItNegativeOrEndless) {
  StepPace pace;
  pace.Record(0, 100, 50, 0.2);
  pace.Record(0, 100, 5000, 0.1);  // deeper and quicker: noise
  EXPECT_GT(pace.PrefillSeconds({.first_position = 0, .tokens = 1}), 0);
  EXPECT_GT(pace.PrefillSeconds({.first_position = 100'000, .tokens = 1}), 0);
  StepPace instant;
  instant.Record(3, 100, 0, 0);
  EXPECT_GT(instant.TokensIn(0.1, 0), 1000);
}

}  // namespace
}  // namespace weir
