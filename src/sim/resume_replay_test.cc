#include "sim/resume_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/seed.h"
#include "support/text_trace.h"

namespace weir {
namespace {

using test::TraceOf;

uint64_t Hits(const std::vector<std::string>& prompts, WindowPolicy policy, uint32_t points,
              uint32_t checkpoint_tokens = 1000) {
  const Trace trace = TraceOf(prompts);
  return ReplayResumePoints(
             trace, {.policy = policy, .points = points, .checkpoint_tokens = checkpoint_tokens})
      .hit_tokens;
}

TEST(ReplayIdeal, FindsTheLongestBeginningThatAnyPromptHad) {
  const ReplayResult result = ReplayIdeal(TraceOf({"abc", "abd", "x", "abde", "abc"}));
  EXPECT_EQ(result.prompt_tokens, 140U);
  EXPECT_EQ(result.hit_tokens, 0U + 20 + 0 + 30 + 30);
}

TEST(ResumeReplay, APromptGoesOnFromTheTailOfAnEarlierOne) {
  EXPECT_EQ(Hits({"ab", "abc"}, WindowPolicy::kTails, 1), 20U);
  EXPECT_EQ(Hits({"ab", "xy", "abc"}, WindowPolicy::kTails, 1), 0U);
  EXPECT_EQ(Hits({"ab", "xy", "abc"}, WindowPolicy::kTails, 2), 20U);
}

TEST(ResumeReplay, TheSecondPromptToPartLeavesAPointForTheThird) {
  EXPECT_EQ(Hits({"abc", "abd", "abe"}, WindowPolicy::kTails, 10), 0U);
  EXPECT_EQ(Hits({"abc", "abd", "abe"}, WindowPolicy::kBranches, 10), 20U);
  EXPECT_EQ(Hits({"abc", "abd", "abe"}, WindowPolicy::kWeir, 10), 20U);
}

TEST(ResumeReplay, ASupersededPointMakesRoomForAnIdleConversation) {
  const std::vector<std::string> prompts = {"ab", "xy", "abc", "xyz"};
  EXPECT_EQ(Hits(prompts, WindowPolicy::kBranches, 2), 20U);        // ab; then xy was the oldest
  EXPECT_EQ(Hits(prompts, WindowPolicy::kColdSuperseded, 2), 40U);  // ab, xy
}

TEST(ResumeReplay, CheckpointsCatchAPromptThatPartsInside) {
  const std::vector<std::string> prompts = {"abcdef", "abcx"};
  EXPECT_EQ(Hits(prompts, WindowPolicy::kBranches, 10), 0U);
  EXPECT_EQ(Hits(prompts, WindowPolicy::kWarmCheckpoints, 10, 20), 20U);  // at ab, abcd, abcdef
  EXPECT_EQ(Hits(prompts, WindowPolicy::kWeir, 10, 20), 20U);
  // With room for one the last to come stays: the end, or nothing that enters at the cold end.
  EXPECT_EQ(Hits(prompts, WindowPolicy::kWarmCheckpoints, 1, 20), 0U);
}

TEST(ResumeReplay, BeladyKeepsWhatIsWantedSoonest) {
  const std::vector<std::string> prompts = {"ab", "xy", "abc", "xyz"};
  EXPECT_EQ(Hits(prompts, WindowPolicy::kTails, 1), 0U);
  EXPECT_EQ(Hits(prompts, WindowPolicy::kBelady, 1), 20U);
  EXPECT_EQ(Hits(prompts, WindowPolicy::kBelady, 2), 40U);
  EXPECT_EQ(Hits({"abcdef", "abcx"}, WindowPolicy::kBelady, 1), 30U);
}

TEST(ResumeReplay, ACutLastBlockIsNoPlaceToGoOnFrom) {
  TraceBuilder builder("cut", 10);
  const uint32_t ab = builder.Child(builder.Child(0, 'a'), 'b');
  builder.AddRequest({.time_s = 0, .token_count = 15, .last_node = ab});  // half of b
  builder.AddRequest({.time_s = 1, .token_count = 15, .last_node = ab});
  const Trace trace = std::move(builder).Build();
  EXPECT_EQ(ReplayIdeal(trace).hit_tokens, 15U);
  EXPECT_EQ(ReplayResumePoints(trace, {.policy = WindowPolicy::kTails, .points = 4}).hit_tokens,
            10U);
}

// Prompts and points as strings, searched from end to end.
class Twin {
 public:
  explicit Twin(const ResumeReplayOptions& options)
      : options_(options),
        is_cold_(options.policy == WindowPolicy::kColdSuperseded ||
                 options.policy == WindowPolicy::kColdCheckpoints),
        has_checkpoints_(options.policy == WindowPolicy::kWarmCheckpoints ||
                         options.policy == WindowPolicy::kColdCheckpoints) {}

  uint64_t Step(const std::string& prompt) {
    std::string known;
    for (size_t n = 0; n <= prompt.size(); ++n) {
      if (seen_.contains(prompt.substr(0, n))) known = prompt.substr(0, n);
    }
    std::string resumed = known;
    while (!resumed.empty() && Find(resumed) == points_.end()) resumed.pop_back();
    if (!resumed.empty()) Resume(resumed, resumed != prompt);
    if (options_.policy != WindowPolicy::kTails && known != resumed) Add(known, 'b');
    const size_t distance = options_.checkpoint_tokens / test::kLetterTokens;
    for (size_t n = resumed.size() + 1; has_checkpoints_ && n <= prompt.size(); ++n) {
      if (n % distance == 0) Add(prompt.substr(0, n), 'p');
    }
    if (!prompt.empty()) Add(prompt, 'n');
    for (size_t n = 0; n <= prompt.size(); ++n) seen_.insert(prompt.substr(0, n));
    return resumed.size() * test::kLetterTokens;
  }

 private:
  struct Point {
    std::string place;
    char kind;  // p, s, b, n as the classes
  };

  std::vector<Point>::iterator Find(const std::string& place) {
    return std::ranges::find(points_, place, &Point::place);
  }
  void Resume(const std::string& place, bool goes_on) {
    Point point = *Find(place);
    points_.erase(Find(place));
    const bool falls = is_cold_ && goes_on && point.kind == 'n';
    if (falls) point.kind = 's';
    points_.insert(falls ? points_.begin() : points_.end(), point);
  }
  void Add(const std::string& place, char kind) {
    const bool enters_cold = is_cold_ && kind == 'p';
    if (const auto found = Find(place); found != points_.end()) {
      if (enters_cold) return;
      const std::string rising = "psbn";
      Point point = *found;
      if (point.kind != 'b' && rising.find(kind) > rising.find(point.kind)) point.kind = kind;
      points_.erase(found);
      points_.push_back(point);
      return;
    }
    if (points_.size() == options_.points) {
      if (enters_cold) return;
      points_.erase(points_.begin());
    }
    points_.insert(enters_cold ? points_.begin() : points_.end(), {place, kind});
  }

  ResumeReplayOptions options_;
  bool is_cold_;
  bool has_checkpoints_;
  std::vector<Point> points_;  // coldest first
  std::set<std::string> seen_;
};

TEST(ResumeReplay, FindsWhatASlowTwinFinds) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 60; ++round) {
    const std::vector<std::string> prompts = test::RandomPrompts(random, 80);
    const Trace trace = TraceOf(prompts);
    for (const WindowPolicy policy :
         {WindowPolicy::kTails, WindowPolicy::kBranches, WindowPolicy::kColdSuperseded,
          WindowPolicy::kWarmCheckpoints, WindowPolicy::kColdCheckpoints}) {
      const ResumeReplayOptions options{.policy = policy,
                                        .points = static_cast<uint32_t>(1 + random() % 12),
                                        .checkpoint_tokens = 20};
      Twin twin(options);
      uint64_t expected = 0;
      for (const std::string& prompt : prompts) expected += twin.Step(prompt);
      ASSERT_EQ(ReplayResumePoints(trace, options).hit_tokens, expected)
          << NameOf(policy) << ", " << options.points << " points";
    }
  }
}

TEST(ResumeReplay, WithRoomForAllPointsNoOrderMatters) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    const Trace trace = TraceOf(test::RandomPrompts(random, 100));
    const auto hits = [&](WindowPolicy policy) {
      return ReplayResumePoints(trace,
                                {.policy = policy, .points = 10'000, .checkpoint_tokens = 20})
          .hit_tokens;
    };
    EXPECT_EQ(hits(WindowPolicy::kWeir), hits(WindowPolicy::kWarmCheckpoints));
    EXPECT_EQ(hits(WindowPolicy::kColdCheckpoints), hits(WindowPolicy::kWarmCheckpoints));
    EXPECT_EQ(hits(WindowPolicy::kBelady), ReplayIdeal(trace).hit_tokens);
  }
}

}  // namespace
}  // namespace weir
