#include "sched/prefill_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;

StepPace OneMillisecondAToken() {
  StepPace pace;
  pace.Record(0, 100, 50, 0.1);
  return pace;
}

std::vector<uint32_t> Plan(const StepPace& pace, const PrefillLimits& limits,
                           std::vector<PrefillCandidate> candidates) {
  PrefillPlanner().Plan(pace, limits, candidates);
  std::vector<uint32_t> tokens;
  for (const PrefillCandidate& candidate : candidates) tokens.push_back(candidate.tokens);
  return tokens;
}

PrefillCandidate Prompt(uint32_t left, uint64_t arrival) {
  return {.position = 0, .left = left, .most = 512, .arrival = arrival};
}

TEST(PrefillPlanner, OnePromptTakesWhatTheTimeAllowsInWholeGranules) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(96));
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(99, 1)}), ElementsAre(99));
  EXPECT_THAT(Plan(pace, {.seconds = 9, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(512));
  EXPECT_THAT(Plan(pace, {.seconds = 0.03, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(24));
  EXPECT_THAT(Plan(pace, {.seconds = 0, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(8));
  EXPECT_THAT(Plan(pace, {.seconds = 0, .tokens = 512}, {Prompt(7, 1)}), ElementsAre(7));
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 20}, {Prompt(2000, 1)}), ElementsAre(20));
}

TEST(PrefillPlanner, WhileThePaceIsUnknownOnePromptTakesAShortChunk) {
  EXPECT_THAT(Plan(StepPace(), {.seconds = 0.1, .tokens = 512}, {Prompt(2000, 1), Prompt(90, 2)}),
              ElementsAre(64, 0));
}

TEST(PrefillPlanner, ShortPromptsGoFirstAndTheFirstToArriveHasAQuarter) {
  const StepPace pace = OneMillisecondAToken();
  // 400 ms: 96 for the first arrival, then 60, then 224 of the 244 that are left, 16 of the 20.
  EXPECT_THAT(Plan(pace, {.seconds = 0.4, .tokens = 512},
                   {Prompt(16'000, 1), Prompt(60, 2), Prompt(5'000, 3)}),
              ElementsAre(96 + 16, 60, 224));
}

// 20 ms a token: a quarter of 200 ms pays for 2 rows only, but in 4 steps it adds up to a whole
// step, which 8 rows take most of; the short one has the other steps.
TEST(PrefillPlanner, TheShareOfTheFirstToArriveAddsUpUntilItPaysForAChunk) {
  StepPace pace;
  pace.Record(0, 100, 50, 2.0);
  PrefillPlanner planner;
  std::vector<uint32_t> of_long, of_short;
  for (int step = 0; step < 14; ++step) {
    std::vector<PrefillCandidate> both = {Prompt(16'000, 1), Prompt(5000, 2)};
    planner.Plan(pace, {.seconds = 0.2, .tokens = 512}, both);
    of_long.push_back(both[0].tokens);
    of_short.push_back(both[1].tokens);
  }
  EXPECT_THAT(of_long, ElementsAre(0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0));
  EXPECT_THAT(of_short, ElementsAre(8, 8, 8, 0, 8, 8, 8, 0, 8, 8, 8, 0, 8, 8));
}

// 8 rows take 160 ms: more than a step may. The first to arrive has them when it saved that much.
TEST(PrefillPlanner, TheFirstToArriveGoesOnThoughTheLeastChunkIsLongerThanAStep) {
  StepPace pace;
  pace.Record(0, 100, 50, 2.0);
  PrefillPlanner planner;
  std::vector<uint32_t> of_long, of_short;
  for (int step = 0; step < 16; ++step) {
    std::vector<PrefillCandidate> both = {Prompt(16'000, 1), Prompt(5000, 2)};
    planner.Plan(pace, {.seconds = 0.1, .tokens = 512}, both);
    of_long.push_back(both[0].tokens);
    of_short.push_back(both[1].tokens);
  }
  EXPECT_THAT(of_long, ElementsAre(0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 8, 0, 0));
  EXPECT_THAT(of_short, ElementsAre(8, 8, 8, 8, 8, 8, 0, 8, 8, 8, 8, 8, 8, 0, 8, 8));
}

TEST(PrefillPlanner, WhoMayTakeNothingIsPassedOver) {
  PrefillCandidate none = Prompt(10, 2);
  none.most = 0;
  EXPECT_THAT(Plan(OneMillisecondAToken(), {.seconds = 0, .tokens = 512}, {Prompt(2000, 1), none}),
              ElementsAre(8, 0));
  EXPECT_THAT(Plan(OneMillisecondAToken(), {.seconds = 1, .tokens = 512}, {none}), ElementsAre(0));
}

TEST(PrefillPlanner, FifoServesTheFirstToArriveOnly) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512, .policy = QueuePolicy::kFifo},
                   {Prompt(60, 2), Prompt(16'000, 1)}),
              ElementsAre(0, 96));
}

TEST(PrefillPlanner, ThreeShortPromptsShareAStep) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(
      Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(30, 1), Prompt(40, 2), Prompt(90, 3)}),
      ElementsAre(30, 40, 24));
}

TEST(PrefillPlanner, AChunkKeepsToItsOwnLimit) {
  PrefillCandidate prompt = Prompt(2000, 1);
  prompt.most = 32;
  EXPECT_THAT(Plan(OneMillisecondAToken(), {.seconds = 1, .tokens = 512}, {prompt}),
              ElementsAre(32));
}

}  // namespace
}  // namespace weir
