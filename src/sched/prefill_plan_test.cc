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
  PlanPrefill(pace, limits, candidates);
  std::vector<uint32_t> tokens;
  for (const PrefillCandidate& candidate : candidates) tokens.push_back(candidate.tokens);
  return tokens;
}

PrefillCandidate Prompt(uint32_t left, uint64_t arrival) {
  return {.position = 0, .left = left, .most = 512, .arrival = arrival};
}

TEST(PlanPrefill, OnePromptTakesWhatTheTimeAllowsInWholeGranules) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(96));
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(99, 1)}), ElementsAre(99));
  EXPECT_THAT(Plan(pace, {.seconds = 9, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(512));
  EXPECT_THAT(Plan(pace, {.seconds = 0, .tokens = 512}, {Prompt(2000, 1)}), ElementsAre(32));
  EXPECT_THAT(Plan(pace, {.seconds = 0, .tokens = 512}, {Prompt(7, 1)}), ElementsAre(7));
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 20}, {Prompt(2000, 1)}), ElementsAre(20));
}

TEST(PlanPrefill, WhileThePaceIsUnknownOnePromptTakesAShortChunk) {
  EXPECT_THAT(Plan(StepPace(), {.seconds = 0.1, .tokens = 512}, {Prompt(2000, 1), Prompt(90, 2)}),
              ElementsAre(64, 0));
}

TEST(PlanPrefill, ShortPromptsGoFirstAndTheFirstToArriveHasAQuarter) {
  const StepPace pace = OneMillisecondAToken();
  // 400 ms: 96 for the first arrival, then 60, then 224 of the 244 that are left.
  EXPECT_THAT(Plan(pace, {.seconds = 0.4, .tokens = 512},
                   {Prompt(16'000, 1), Prompt(60, 2), Prompt(5'000, 3)}),
              ElementsAre(96, 60, 224));
}

TEST(PlanPrefill, FifoServesTheFirstToArriveOnly) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(Plan(pace, {.seconds = 0.1, .tokens = 512, .policy = QueuePolicy::kFifo},
                   {Prompt(60, 2), Prompt(16'000, 1)}),
              ElementsAre(0, 96));
}

TEST(PlanPrefill, ThreeShortPromptsShareAStep) {
  const StepPace pace = OneMillisecondAToken();
  EXPECT_THAT(
      Plan(pace, {.seconds = 0.1, .tokens = 512}, {Prompt(30, 1), Prompt(40, 2), Prompt(90, 3)}),
      ElementsAre(30, 40, 0));
}

TEST(PlanPrefill, AChunkKeepsToItsOwnLimit) {
  PrefillCandidate prompt = Prompt(2000, 1);
  prompt.most = 32;
  EXPECT_THAT(Plan(OneMillisecondAToken(), {.seconds = 1, .tokens = 512}, {prompt}),
              ElementsAre(32));
}

}  // namespace
}  // namespace weir
