#include "load/load_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<MixClass> Mix(std::string_view text) {
  auto mix = ParseMix(text);
  EXPECT_TRUE(mix) << text;
  return mix ? *mix : std::vector<MixClass>{};
}

LoadPlan Plan(const MixLoad& load) {
  auto plan = PlanMix(load);
  EXPECT_TRUE(plan);
  return plan ? *plan : LoadPlan{};
}

uint32_t LengthOf(const LoadScript& script) { return script.turns[0].message.back().end_tokens; }

std::vector<uint64_t> SeedsOf(const LoadTurn& turn) {
  std::vector<uint64_t> seeds;
  for (const TextPiece& piece : turn.message) seeds.push_back(piece.seed);
  return seeds;
}

std::vector<uint32_t> EndsOf(const LoadTurn& turn) {
  std::vector<uint32_t> ends;
  for (const TextPiece& piece : turn.message) ends.push_back(piece.end_tokens);
  return ends;
}

TEST(Mix, ReadsCountsRangesAndNames) {
  const auto mix = Mix("100x64-512:32,long=4x16384:16");
  ASSERT_EQ(mix.size(), 2U);
  EXPECT_EQ(mix[0].name, "100x64-512:32");
  EXPECT_EQ(mix[0].count, 100U);
  EXPECT_EQ(mix[0].prompt_tokens_min, 64U);
  EXPECT_EQ(mix[0].prompt_tokens_max, 512U);
  EXPECT_EQ(mix[0].answer_tokens, 32U);
  EXPECT_EQ(mix[1].name, "long");
  EXPECT_EQ(mix[1].prompt_tokens_min, 16384U);
  EXPECT_EQ(mix[1].prompt_tokens_max, 16384U);
}

TEST(Mix, NamesThePartThatIsWrong) {
  for (const char* part :
       {"", "100", "100x512", "0x512:64", "1x0:64", "1x512:0", "1x9-5:1", "-1x5:1", "1x5:1 ",
        "1x5-:1", "1x-5:1", "=1x5:1", "1x99999999999:1", "1x5:6-7"}) {
    const auto mix = ParseMix(std::string("2x2:2,") + part);
    ASSERT_FALSE(mix) << part;
    EXPECT_EQ(mix.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(mix.error().message, HasSubstr(std::string("'") + part + "'"));
  }
  EXPECT_FALSE(ParseMix("1x2:3,1x2:3"));
}

TEST(PlanMix, ShufflesTheClassesAndKeepsTheirCountsAndLengths) {
  const LoadPlan plan = Plan({.mix = Mix("30x64-512:8,10x2000:9"), .clients = 4});
  ASSERT_EQ(plan.scripts.size(), 40U);
  EXPECT_EQ(plan.clients, 4U);
  EXPECT_EQ(plan.TurnCount(), 40U);
  int long_ones = 0;
  int changes = 0;
  for (size_t i = 0; i < plan.scripts.size(); ++i) {
    const LoadTurn& turn = plan.scripts[i].turns[0];
    const bool is_long = turn.class_index == 1;
    long_ones += is_long ? 1 : 0;
    if (i > 0 && turn.class_index != plan.scripts[i - 1].turns[0].class_index) ++changes;
    EXPECT_EQ(turn.answer_tokens, is_long ? 9U : 8U);
    EXPECT_GE(LengthOf(plan.scripts[i]), is_long ? 2000U : 64U);
    EXPECT_LE(LengthOf(plan.scripts[i]), is_long ? 2000U : 512U);
  }
  EXPECT_EQ(long_ones, 10);
  EXPECT_GT(changes, 4);  // not in the order of the classes
}

TEST(PlanMix, TheSeedIsAllThatDecides) {
  const MixLoad load{.mix = Mix("20x64-512:8"), .seed = 5};
  const LoadPlan first = Plan(load);
  const LoadPlan again = Plan(load);
  MixLoad other_load = load;
  other_load.seed = 6;
  const LoadPlan other = Plan(other_load);
  int equal = 0;
  for (size_t i = 0; i < first.scripts.size(); ++i) {
    EXPECT_EQ(SeedsOf(first.scripts[i].turns[0]), SeedsOf(again.scripts[i].turns[0]));
    EXPECT_EQ(LengthOf(first.scripts[i]), LengthOf(again.scripts[i]));
    for (const LoadScript& script : other.scripts) {
      equal += SeedsOf(script.turns[0]) == SeedsOf(first.scripts[i].turns[0]) ? 1 : 0;
    }
  }
  EXPECT_EQ(equal, 0);  // another seed is other text
}

// The mean gap of 20,000 Poisson arrivals is 1/rate, within 4 standard errors (1/sqrt(n) of it);
// 1/e of the gaps are longer than the mean.
TEST(PlanMix, ArrivalsOfARateArePoisson) {
  const LoadPlan plan = Plan({.mix = Mix("20001x8:1"), .rate_per_s = 10});
  EXPECT_EQ(plan.clients, 0U);
  const double last_s = plan.scripts.back().at_s;
  EXPECT_NEAR(last_s / 20000, 0.1, 0.1 * 4 / 141);
  int longer = 0;
  for (size_t i = 1; i < plan.scripts.size(); ++i) {
    const double gap_s = plan.scripts[i].at_s - plan.scripts[i - 1].at_s;
    EXPECT_GE(gap_s, 0);
    longer += gap_s > 0.1 ? 1 : 0;
  }
  EXPECT_NEAR(longer / 20000.0, 0.3679, 0.014);
}

TEST(PlanMix, SharedTokensBeginEveryPrompt) {
  const LoadPlan plan = Plan({.mix = Mix("3x400:8"), .shared_tokens = 300});
  for (const LoadScript& script : plan.scripts) {
    EXPECT_THAT(EndsOf(script.turns[0]), ElementsAre(300, 400));
    EXPECT_EQ(SeedsOf(script.turns[0])[0], SeedsOf(plan.scripts[0].turns[0])[0]);
  }
  EXPECT_NE(SeedsOf(plan.scripts[0].turns[0])[1], SeedsOf(plan.scripts[1].turns[0])[1]);
  EXPECT_FALSE(PlanMix({.mix = Mix("3x300:8"), .shared_tokens = 300}));
}

TEST(PlanConversations, EachHasItsTurnsAndTheFirstMayBeLong) {
  const LoadPlan plan = PlanConversations({.conversations = 3,
                                           .turns = 2,
                                           .first_tokens = 1000,
                                           .prompt_tokens = 50,
                                           .answer_tokens = 7,
                                           .clients = 2});
  ASSERT_EQ(plan.scripts.size(), 3U);
  EXPECT_EQ(plan.TurnCount(), 6U);
  EXPECT_EQ(plan.clients, 2U);
  for (const LoadScript& script : plan.scripts) {
    ASSERT_EQ(script.turns.size(), 2U);
    EXPECT_THAT(EndsOf(script.turns[0]), ElementsAre(1000));
    EXPECT_THAT(EndsOf(script.turns[1]), ElementsAre(50));
    EXPECT_EQ(plan.classes[script.turns[0].class_index], "first turn");
    EXPECT_EQ(plan.classes[script.turns[1].class_index], "next turn");
  }
}

//   blocks of 100 tokens      a ── b ── c     250 tokens, then 350
//                              └── d          200 tokens
Trace SmallTrace() {
  TraceBuilder builder("small", 100);
  const uint32_t a = builder.Child(0, 1);
  const uint32_t b = builder.Child(a, 2);
  const uint32_t c = builder.Child(b, 3);
  const uint32_t d = builder.Child(a, 4);
  builder.AddRequest({.time_s = 50, .token_count = 250, .last_node = c, .answer_tokens = 40});
  builder.AddRequest({.time_s = 51, .token_count = 350, .last_node = c, .answer_tokens = 0});
  builder.AddRequest({.time_s = 54, .token_count = 200, .last_node = d, .answer_tokens = 10});
  return std::move(builder).Build();
}

LoadPlan TracePlan(const TraceLoad& load) {
  auto plan = PlanTrace(SmallTrace(), load);
  EXPECT_TRUE(plan);
  return plan ? *plan : LoadPlan{};
}

TEST(PlanTrace, SharedBlocksAreSharedText) {
  const LoadPlan plan = TracePlan({});
  ASSERT_EQ(plan.scripts.size(), 3U);
  EXPECT_EQ(plan.clients, 0U);
  const LoadTurn& first = plan.scripts[0].turns[0];
  const LoadTurn& second = plan.scripts[1].turns[0];
  const LoadTurn& third = plan.scripts[2].turns[0];
  EXPECT_THAT(EndsOf(first), ElementsAre(100, 200, 250));        // the last block is cut
  EXPECT_THAT(EndsOf(second), ElementsAre(100, 200, 300, 350));  // a piece after the blocks
  EXPECT_THAT(EndsOf(third), ElementsAre(100, 200));
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(SeedsOf(first)[i], SeedsOf(second)[i]);
  EXPECT_EQ(SeedsOf(first)[0], SeedsOf(third)[0]);
  EXPECT_NE(SeedsOf(first)[1], SeedsOf(third)[1]);
  EXPECT_EQ(first.answer_tokens, 40U);
  EXPECT_EQ(second.answer_tokens, 1U);  // at least one
}

TEST(PlanTrace, ScalesTimesAndTokens) {
  const LoadPlan plan = TracePlan({.time_scale = 0.5, .token_scale = 0.1, .limit = 2});
  ASSERT_EQ(plan.scripts.size(), 2U);
  EXPECT_EQ(plan.scripts[0].at_s, 0);
  EXPECT_EQ(plan.scripts[1].at_s, 0.5);
  EXPECT_THAT(EndsOf(plan.scripts[0].turns[0]), ElementsAre(10, 20, 25));
  EXPECT_EQ(plan.scripts[0].turns[0].answer_tokens, 4U);
}

TEST(PlanTrace, CutsPromptsThatAreTooLong) {
  const LoadPlan plan = TracePlan({.prompt_tokens_max = 150});
  EXPECT_THAT(EndsOf(plan.scripts[0].turns[0]), ElementsAre(100, 150));
  EXPECT_EQ(SeedsOf(plan.scripts[0].turns[0]), SeedsOf(plan.scripts[1].turns[0]));
}

TEST(PlanTrace, ClassesAreLengths) {
  TraceBuilder builder("long", 512);
  for (const uint32_t tokens : {4096U, 4097U, 16385U, 100'000U}) {
    builder.AddRequest({.token_count = tokens});
  }
  const auto plan = PlanTrace(std::move(builder).Build(), {});
  ASSERT_TRUE(plan);
  std::vector<std::string> classes;
  for (const LoadScript& script : plan->scripts) {
    classes.push_back(plan->classes[script.turns[0].class_index]);
  }
  EXPECT_THAT(classes, ElementsAre("0-4K", "4-16K", "16-64K", "64K+"));
}

TEST(PlanTrace, RefusesATraceWithoutRequests) {
  EXPECT_FALSE(PlanTrace(std::move(TraceBuilder("none", 16)).Build(), {}));
}

}  // namespace
}  // namespace weir
