#include "weir/prefix_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "weir/sequence.h"

namespace weir::kv {
namespace {

using testing::HasSubstr;

constexpr Layer kFull0{Group::kFull, 0};
constexpr Layer kWindow0{Group::kWindow, 0};

// One full and one window layer of a byte a row: a tile of each is 128 bytes.
Pools SmallPools(uint64_t full_tiles, uint64_t window_tiles, uint32_t window = 100) {
  return *Pools::Create({.full = LayerGroup{.layer_count = 1, .key_bytes = 1},
                         .window = LayerGroup{.layer_count = 1, .key_bytes = 1, .window = window}},
                        {full_tiles * 128, window_tiles * 128}, 256);
}

PrefixCache SmallCache(const Pools& pools) {
  return *PrefixCache::Create(pools, {.checkpoint_tokens = 0});
}

// Computes a prompt to its end; its rows are never looked at here.
void Compute(PrefixCache& cache, std::string_view name_space, const std::vector<Token>& prompt,
             std::span<const uint32_t> message_starts = {}) {
  auto sequence = *Sequence::Begin(
      cache, {.name_space = name_space, .prompt = prompt, .message_starts = message_starts});
  while (sequence.token_count() < prompt.size()) {
    const auto left = static_cast<uint32_t>(prompt.size()) - sequence.token_count();
    auto chunk = sequence.BeginChunk(std::min(left, 256U));
    ASSERT_TRUE(chunk) << chunk.error().message;
    chunk->EndLayer(kFull0);
    chunk->EndLayer(kWindow0);
    sequence.Commit(*std::move(chunk));
  }
  sequence.Finish();
}

TEST(PrefixCache, AMatchLeavesThePromptsLastTokenAndChangesNothing) {
  const Pools pools = SmallPools(20, 20);
  PrefixCache cache = SmallCache(pools);
  const std::vector<Token> prompt(300, 5);
  EXPECT_EQ(cache.Match("a", prompt).full_length, 0U);
  Compute(cache, "a", prompt);
  const PrefixStats before = cache.stats();
  EXPECT_EQ(cache.Match("a", prompt).full_length, 299U);
  EXPECT_EQ(cache.Match("a", prompt).safe_length, 299U);
  EXPECT_EQ(cache.Match("a", std::vector<Token>(1000, 5)).full_length, 300U);
  EXPECT_EQ(cache.Match("a", {}).full_length, 0U);
  EXPECT_EQ(cache.Match("nobody", prompt).full_length, 0U);
  const PrefixStats after = cache.stats();
  EXPECT_EQ(after.nodes, before.nodes);
  EXPECT_EQ(after.pins, 0U);
  EXPECT_EQ(after.nodes, 3U);  // 128 + 128 + a tail of 44
  EXPECT_EQ(after.tails, 1U);
}

TEST(PrefixCache, NameSpacesAndFingerprintsKeepPromptsApart) {
  const Pools pools = SmallPools(20, 20);
  PrefixCache cache = *PrefixCache::Create(pools, {.fingerprint = "one"});
  const PrefixCache other = *PrefixCache::Create(pools, {.fingerprint = "two"});
  const std::vector<Token> prompt(200, 5);
  Compute(cache, "alice", prompt);
  EXPECT_EQ(cache.Match("alice", prompt).safe_length, 199U);
  EXPECT_EQ(cache.Match("bob", prompt).full_length, 0U);
  EXPECT_EQ(cache.Match("", prompt).full_length, 0U);
  EXPECT_EQ(other.Match("alice", prompt).full_length, 0U);
}

TEST(PrefixCache, RoomIsMadeOfEachPoolByItself) {
  // 600 tokens: 5 full tiles, and with memory free all 5 window tiles.
  const Pools pools = SmallPools(8, 8);
  PrefixCache cache = SmallCache(pools);
  Compute(cache, "a", std::vector<Token>(600, 5));
  EXPECT_EQ(pools.stats().full.used_tiles, 5U);
  EXPECT_TRUE(cache.MakeRoom({.window = 8}));
  EXPECT_EQ(pools.stats().full.used_tiles, 5U);
  EXPECT_EQ(pools.stats().window.used_tiles, 0U);
  EXPECT_EQ(cache.stats().tombstones, 5U);
  EXPECT_TRUE(cache.MakeRoom({.full = 5}));
  EXPECT_EQ(pools.stats().full.used_tiles, 3U);
  EXPECT_FALSE(cache.MakeRoom({.full = 9}));
  EXPECT_EQ(pools.stats().full.used_tiles, 0U);
}

TEST(PrefixCache, APinKeepsFullTilesAsLongAsItLives) {
  const Pools pools = SmallPools(8, 8);
  PrefixCache cache = SmallCache(pools);
  Compute(cache, "a", std::vector<Token>(600, 5));
  {
    const Pin pin = cache.PinPrefix("a", std::vector<Token>(256, 5));
    EXPECT_EQ(pin.token_count(), 256U);
    EXPECT_EQ(cache.stats().pins, 1U);
    EXPECT_FALSE(cache.MakeRoom({.full = 8, .window = 8}));
    EXPECT_EQ(pools.stats().full.used_tiles, 2U);
    EXPECT_EQ(pools.stats().window.used_tiles, 0U);
    EXPECT_EQ(cache.Match("a", std::vector<Token>(600, 5)).full_length, 256U);
  }
  EXPECT_TRUE(cache.MakeRoom({.full = 8}));
  EXPECT_EQ(cache.PinPrefix("a", std::vector<Token>(256, 5)).token_count(), 0U);
}

TEST(PrefixCache, AFlushForgetsEverythingAndRunningSequencesGoOn) {
  const Pools pools = SmallPools(8, 8);
  PrefixCache cache = SmallCache(pools);
  const std::vector<Token> prompt(300, 5);
  auto sequence = *Sequence::Begin(cache, {.prompt = prompt});
  const auto step = [&sequence](uint32_t count) {
    auto chunk = sequence.BeginChunk(count);
    ASSERT_TRUE(chunk) << chunk.error().message;
    chunk->EndLayer(kFull0);
    chunk->EndLayer(kWindow0);
    sequence.Commit(*std::move(chunk));
  };
  step(200);
  EXPECT_EQ(cache.Flush(), 1U);  // the whole tile
  step(100);
  sequence.Finish();
  EXPECT_EQ(cache.Match("", prompt).full_length, 0U);
  EXPECT_EQ(cache.stats().nodes, 0U);
}

TEST(PrefixCache, MessageStartsBecomeResumePoints) {
  // Without them, kept: the prompt's end, and the position before it. Room for 3 live windows.
  const std::vector<Token> prompt(1000, 5);
  const Pools pools = SmallPools(8, 7);
  PrefixCache cache = SmallCache(pools);
  Compute(cache, "a", prompt, std::vector<uint32_t>{260, 520});
  const auto by_class = cache.stats().resume_points;
  EXPECT_EQ(by_class[static_cast<size_t>(ResumeClass::kPeriodic)], 2U);
  EXPECT_EQ(by_class[static_cast<size_t>(ResumeClass::kSuperseded)], 1U);
  EXPECT_EQ(by_class[static_cast<size_t>(ResumeClass::kNewest)],
            1U);  // no answer: the prompt's end
  std::vector<Token> edited = prompt;
  edited[530] = 6;
  EXPECT_EQ(cache.Match("a", edited).full_length, 530U);
  EXPECT_GE(cache.Match("a", edited).safe_length, 520U);
  EXPECT_EQ(cache.ConversationLengths(1), std::vector<uint32_t>{1000});
}

TEST(PrefixCache, OptionsThatCannotBeAreRefused) {
  const Pools pools = SmallPools(8, 8);
  const auto refusal = [&pools](PrefixOptions options) {
    const auto cache = PrefixCache::Create(pools, std::move(options));
    return cache ? "" : cache.error().message;
  };
  EXPECT_THAT(refusal({.secret = std::vector<std::byte>(135)}), HasSubstr("135 bytes"));
  EXPECT_EQ(refusal({.secret = std::vector<std::byte>(136)}), "");
  EXPECT_EQ(refusal({.layers = {kWindow0, kFull0}}), "");
  EXPECT_THAT(refusal({.layers = {kFull0}}), HasSubstr("not those of the layout"));
  EXPECT_THAT(refusal({.layers = {kFull0, kFull0}}), HasSubstr("not those of the layout"));
  EXPECT_THAT(refusal({.layers = {kFull0, {Group::kWindow, 1}}}), HasSubstr("not those"));
}

}  // namespace
}  // namespace weir::kv
