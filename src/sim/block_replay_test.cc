#include "sim/block_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sim/resume_replay.h"
#include "support/seed.h"
#include "support/text_trace.h"

namespace weir {
namespace {

using test::TraceOf;

uint64_t Hits(const std::vector<std::string>& prompts, BlockPolicy policy, uint32_t blocks) {
  return ReplayBlocks(TraceOf(prompts), {.policy = policy, .blocks = blocks}).hit_tokens;
}

TEST(BlockReplay, TheDeepestBlockOfTheOldestPromptGoesFirst) {
  const std::vector<std::string> prompts = {"abc", "ad", "ab"};
  EXPECT_EQ(Hits(prompts, BlockPolicy::kLru, 3), 0U + 10 + 20);     // d takes the place of c
  EXPECT_EQ(Hits(prompts, BlockPolicy::kSglang, 3), 0U + 10 + 10);  // b and c go as a whole
}

TEST(BlockReplay, AllPoliciesFindEverythingWhenNothingMustGo) {
  const std::vector<std::string> prompts = {"abc", "abd", "x", "abde", "abc"};
  for (uint32_t p = 0; p < kBlockPolicyCount; ++p) {
    EXPECT_EQ(Hits(prompts, static_cast<BlockPolicy>(p), 6), 20U + 30 + 30);
  }
}

TEST(BlockReplay, APromptLargerThanTheCacheLeavesItsBeginning) {
  for (uint32_t p = 0; p < kBlockPolicyCount; ++p) {
    EXPECT_EQ(Hits({"abcd", "abcd"}, static_cast<BlockPolicy>(p), 2), 20U);
  }
}

TEST(BlockReplay, BeladyDropsWhatIsNotUsedAgain) {
  EXPECT_EQ(Hits({"ab", "cd", "ab"}, BlockPolicy::kLru, 2), 0U);
  EXPECT_EQ(Hits({"ab", "cd", "ab"}, BlockPolicy::kBelady, 2), 20U);
}

// Eight conversations take turns and there is room for four: by last use nothing is ever found.
TEST(BlockReplay, WeirLearnsThatConversationsTakeTurns) {
  TraceBuilder builder("turns", 10);
  constexpr uint32_t kTurns = 8 * 100;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    uint32_t node = 0;
    for (int block = 0; block < 50; ++block) node = builder.Child(node, turn % 8);
    builder.AddRequest({.time_s = double(turn), .token_count = 500, .last_node = node});
  }
  const Trace trace = std::move(builder).Build();
  EXPECT_EQ(ReplayBlocks(trace, {.policy = BlockPolicy::kLru, .blocks = 200}).hit_tokens, 0U);
  // Room for three besides the one that runs.
  const double best = 3.0 / 8 * 500 * kTurns;
  const auto hits = ReplayBlocks(trace, {.policy = BlockPolicy::kWeir, .blocks = 200}).hit_tokens;
  EXPECT_GE(static_cast<double>(hits), 0.9 * best);
}

// Every kept prefix as a string; each question is answered by a search through all of them.
class Twin {
 public:
  Twin(const std::vector<std::string>& prompts, const BlockReplayOptions& options)
      : prompts_(prompts), options_(options) {}

  uint64_t Run() {
    uint64_t hits = 0;
    for (now_ = 0; now_ < prompts_.size(); ++now_) hits += Step(prompts_[now_]);
    return hits;
  }

 private:
  uint64_t Step(const std::string& prompt) {
    size_t found = 0;
    while (found < prompt.size() && kept_.contains(prompt.substr(0, found + 1))) ++found;
    for (size_t n = 1; n <= found; ++n) kept_[prompt.substr(0, n)] = now_;
    const bool is_bound = options_.policy == BlockPolicy::kBelady;
    for (size_t n = found + 1; n <= prompt.size(); ++n) {
      if (!is_bound && kept_.size() == options_.blocks && !EvictOne(prompt)) break;
      kept_[prompt.substr(0, n)] = now_;
    }
    while (kept_.size() > options_.blocks) EvictOne("");
    return found * test::kLetterTokens;
  }

  [[nodiscard]] static bool Begins(const std::string& text, const std::string& with) {
    return text.compare(0, with.size(), with) == 0;
  }
  [[nodiscard]] bool IsLeaf(const std::string& block) const {
    return std::ranges::count_if(kept_, [&](const auto& e) { return Begins(e.first, block); }) == 1;
  }
  [[nodiscard]] size_t NextUse(const std::string& block) const {
    size_t next = now_ + 1;
    while (next < prompts_.size() && !Begins(prompts_[next], block)) ++next;
    return next < prompts_.size() ? next : SIZE_MAX;
  }

  // Neither blocks of `running` nor, with SGLang's nodes, only a part of what was used together.
  bool EvictOne(const std::string& running) {
    std::optional<std::string> victim;
    for (const auto& [block, used_at] : kept_) {
      if (Begins(running, block) || !IsLeaf(block)) continue;
      if (!victim || GoesBefore(block, *victim)) victim = block;
    }
    if (!victim) return false;
    const size_t used_at = kept_.at(*victim);
    do {
      kept_.erase(*victim);
      victim->pop_back();
    } while (options_.policy == BlockPolicy::kSglang && !victim->empty() && IsLeaf(*victim) &&
             !Begins(running, *victim) && kept_.at(*victim) == used_at);
    return true;
  }
  [[nodiscard]] bool GoesBefore(const std::string& a, const std::string& b) const {
    if (options_.policy == BlockPolicy::kBelady) {
      return std::pair(NextUse(a), a.size()) > std::pair(NextUse(b), b.size());
    }
    return std::pair(kept_.at(a), b.size()) < std::pair(kept_.at(b), a.size());
  }

  const std::vector<std::string>& prompts_;
  BlockReplayOptions options_;
  std::map<std::string, size_t> kept_;  // last use
  size_t now_ = 0;
};

TEST(BlockReplay, FindsWhatASlowTwinFinds) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 40; ++round) {
    const std::vector<std::string> prompts = test::RandomPrompts(random, 60);
    const Trace trace = TraceOf(prompts);
    for (const BlockPolicy policy :
         {BlockPolicy::kLru, BlockPolicy::kSglang, BlockPolicy::kBelady}) {
      const BlockReplayOptions options{.policy = policy,
                                       .blocks = static_cast<uint32_t>(1 + random() % 30)};
      ASSERT_EQ(ReplayBlocks(trace, options).hit_tokens, Twin(prompts, options).Run())
          << NameOf(policy) << ", " << options.blocks << " blocks";
    }
  }
}

TEST(BlockReplay, NothingIsBetterThanTheBound) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 20; ++round) {
    const Trace trace = TraceOf(test::RandomPrompts(random, 200));
    const auto blocks = static_cast<uint32_t>(1 + random() % 60);
    const auto hits = [&](BlockPolicy policy) {
      return ReplayBlocks(trace, {.policy = policy, .blocks = blocks}).hit_tokens;
    };
    EXPECT_LE(hits(BlockPolicy::kWeir), hits(BlockPolicy::kBelady));
    EXPECT_LE(hits(BlockPolicy::kLru), hits(BlockPolicy::kBelady));
  }
}

}  // namespace
}  // namespace weir
