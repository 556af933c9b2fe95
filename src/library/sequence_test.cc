#include "weir/sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "support/toy_engine.h"

namespace weir::kv {
namespace {

using test::ColdRun;
using test::ToyModel;
using test::ToyRun;
using testing::HasSubstr;

constexpr Layer kFull0{Group::kFull, 0};
constexpr Layer kFull1{Group::kFull, 1};
constexpr Layer kWindow0{Group::kWindow, 0};
constexpr Layer kWindow1{Group::kWindow, 1};

ToyModel Model() { return {.window = 100, .layers = {kWindow0, kFull0, kWindow1, kFull1}}; }

struct Host {
  explicit Host(const ToyModel& model, uint64_t full_tiles = 40, uint64_t window_tiles = 40,
                std::optional<uint32_t> checkpoint_tokens = 0)
      : pools(*Pools::Create(
            model.Layout(),
            {full_tiles * (model.Layout().full ? model.Layout().full->tile_bytes() : 0),
             window_tiles * (model.Layout().window ? model.Layout().window->tile_bytes() : 0)},
            256)),
        cache(*PrefixCache::Create(pools, {.fingerprint = "toy",
                                           .layers = model.layers,
                                           .checkpoint_tokens = checkpoint_tokens})) {}
  Pools pools;
  PrefixCache cache;
};

std::vector<Token> Tokens(uint32_t count, Token first = 0) {
  std::vector<Token> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

ToyRun Begin(Host& host, const ToyModel& model, const std::vector<Token>& prompt) {
  return {model, *Sequence::Begin(host.cache, {.name_space = "a", .prompt = prompt}), prompt};
}

// Runs a prompt to its end and compares what is computed with a cold run.
Sources Answer(Host& host, const ToyModel& model, const std::vector<Token>& prompt) {
  ToyRun run = Begin(host, model, prompt);
  const Sources sources = run.sequence().sources();
  const std::vector<uint64_t> cold = ColdRun(model, prompt);
  while (!run.is_done()) {
    const uint32_t begin = run.sequence().token_count();
    const auto states = run.Step(200);
    EXPECT_TRUE(states) << states.error().message;
    if (!states) return sources;
    for (uint32_t i = 0; i < states->size(); ++i) {
      if (begin + i < sources.reused + sources.replayed)
        continue;  // a replay's results are nobody's
      EXPECT_EQ((*states)[i], cold[begin + i]) << "position " << begin + i;
    }
  }
  run.sequence().Finish();
  return sources;
}

std::vector<uint32_t> AsVector(const Sources& sources) {
  return {sources.reused, sources.replayed, sources.computed};
}

TEST(Sequence, AChunkSaysWhichRowsOfWhichTileAreItsOwn) {
  // W = 100          tile   0          1          2
  // chunk [0, 200)        [0, 128)  [128, 200)
  // chunk [200, 260)                [200, 256)  [256, 260)
  const ToyModel model = Model();
  Host host(model);
  ToyRun run = Begin(host, model, Tokens(300));
  ASSERT_TRUE(run.Step(200));
  auto chunk = run.sequence().BeginChunk(60);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->begin(), 200U);
  EXPECT_EQ(chunk->end(), 260U);
  for (const Layer layer : model.layers) {
    const RowSpace first = chunk->Rows(layer, 1);
    EXPECT_EQ(first.begin, 200U);
    EXPECT_EQ(first.end, 256U);
    EXPECT_EQ(first.keys.size(), 128U * 8);
    EXPECT_EQ(first.values.size(), 128U * 16);
    const RowSpace last = chunk->Rows(layer, 2);
    EXPECT_EQ(last.begin, 256U);
    EXPECT_EQ(last.end, 260U);
    // Query 200 sees 101..200 in a window layer: tiles 0 to 2, and all of them in a full one.
    const TileTable table = chunk->Tiles(layer);
    EXPECT_EQ(table.first_tile, 0U);
    ASSERT_EQ(table.planes.size(), 3U);
    EXPECT_EQ(table.planes[1].keys.data(), first.keys.data());
    EXPECT_EQ(table.planes[2].values.data(), last.values.data());
  }
}

TEST(Sequence, TheSamePromptAgainComputesItsLastTokenOnly) {
  const ToyModel model = Model();
  Host host(model);
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(600))), testing::ElementsAre(0, 0, 600));
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(600))), testing::ElementsAre(599, 0, 1));
}

TEST(Sequence, APromptThatGoesOnComputesWhatIsNew) {
  const ToyModel model = Model();
  Host host(model);
  Answer(host, model, Tokens(450));
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(700))), testing::ElementsAre(450, 0, 250));
}

TEST(Sequence, AnEditResumesWhereTheTextsPartWhileMemoryIsFree) {
  const ToyModel model = Model();
  Host host(model);
  Answer(host, model, Tokens(600));
  std::vector<Token> edited = Tokens(600);
  edited[333] = -1;
  EXPECT_THAT(AsVector(Answer(host, model, edited)), testing::ElementsAre(333, 0, 267));
}

TEST(Sequence, WhatWasAppendedIsReusedAsWellAsThePrompt) {
  const ToyModel model = Model();
  Host host(model);
  ToyRun run = Begin(host, model, Tokens(300));
  while (!run.is_done()) ASSERT_TRUE(run.Step(128));
  for (Token token = 300; token < 340; ++token) {
    run.Append(token);
    ASSERT_TRUE(run.Step(1));
  }
  run.sequence().Finish();
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(400))), testing::ElementsAre(340, 0, 60));
}

TEST(Sequence, LostWindowsAreReplayedFromFullTilesWithoutWritingThese) {
  // Two window layers of W = 100: exact rows at 999 need 2 * 99 positions before it at least. With
  // all windows gone nothing else can be reused.
  const ToyModel model = Model();
  Host host(model);
  Answer(host, model, Tokens(1000));
  ASSERT_TRUE(host.cache.MakeRoom({.window = 40}));
  const PrefixMatch match = host.cache.Match("a", Tokens(1000));
  EXPECT_EQ(match.full_length, 999U);
  EXPECT_EQ(match.safe_length, 0U);

  ToyRun run = Begin(host, model, Tokens(1000));
  const Sources sources = run.sequence().sources();
  EXPECT_EQ(sources.reused + sources.replayed, 999U);
  EXPECT_GE(sources.replayed, 2U * 99);
  EXPECT_LT(sources.replayed, 2U * 99 + 128);
  auto chunk = run.sequence().BeginChunk(64);
  ASSERT_TRUE(chunk);
  const uint32_t tile = chunk->begin() / 128;
  const RowSpace full = chunk->Rows(kFull1, tile);
  EXPECT_EQ(full.begin, full.end);
  EXPECT_TRUE(full.keys.empty());
  EXPECT_EQ(chunk->Rows(kWindow0, tile).begin, chunk->begin());
  EXPECT_EQ(chunk->Tiles(kWindow0).first_position, chunk->begin());
  EXPECT_EQ(chunk->Tiles(kFull0).first_position, 0U);
}

TEST(Sequence, AReplayGivesTheResultsOfAColdRun) {
  const ToyModel model = Model();
  Host host(model);
  Answer(host, model, Tokens(1000));
  ASSERT_TRUE(host.cache.MakeRoom({.window = 40}));
  EXPECT_EQ(Answer(host, model, Tokens(1100)).computed, 100U);
  // The replay has put the windows back.
  EXPECT_EQ(host.cache.Match("a", Tokens(1050)).safe_length, 1049U);
}

TEST(Sequence, AReplayIsLongEnoughWhereNoRoundingToTilesHelpsIt) {
  // Position 995 sees rows from 995 - 99 = 896 = 7 * 128 on: the first row of the tile is needed.
  const ToyModel model = Model();
  Host host(model);
  Answer(host, model, Tokens(996));
  ASSERT_TRUE(host.cache.MakeRoom({.window = 40}));
  // From the top: window layer 896, full layers nothing, window layer 896 - 99 = 797.
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(996))), testing::ElementsAre(797, 198, 1));
}

TEST(Sequence, WithoutLayersNothingIsReplayed) {
  ToyModel model = Model();
  Host host(model);
  auto cache = *PrefixCache::Create(host.pools, {.fingerprint = "toy", .checkpoint_tokens = 0});
  std::swap(host.cache, cache);
  Answer(host, model, Tokens(1000));
  ASSERT_TRUE(host.cache.MakeRoom({.window = 40}));
  EXPECT_THAT(AsVector(Answer(host, model, Tokens(1000))), testing::ElementsAre(0, 0, 1000));
}

TEST(Sequence, ModelsOfOneGroupAndOfOneRowForKeysAndValuesWork) {
  for (const bool has_values : {true, false}) {
    for (const std::vector<Layer>& layers : {std::vector{kFull0, kFull1}, {kWindow0, kWindow1}}) {
      const ToyModel model{.window = 200, .layers = layers, .has_values = has_values};
      Host host(model);
      EXPECT_EQ(Answer(host, model, Tokens(500)).computed, 500U);
      EXPECT_EQ(Answer(host, model, Tokens(600)).computed, 100U);
    }
  }
}

TEST(Sequence, ATokenCountThatCannotBeIsRefused) {
  const ToyModel model = Model();
  Host host(model);
  EXPECT_FALSE(Sequence::Begin(host.cache, {.name_space = "a"}));
  const std::vector<Token> prompt = Tokens(100);
  const std::vector<uint32_t> falling = {50, 20};
  const std::vector<uint32_t> beyond = {50, 101};
  EXPECT_FALSE(Sequence::Begin(host.cache, {.prompt = prompt, .message_starts = falling}));
  EXPECT_FALSE(Sequence::Begin(host.cache, {.prompt = prompt, .message_starts = beyond}));
  auto sequence = *Sequence::Begin(host.cache, {.prompt = prompt});
  EXPECT_THAT(sequence.BeginChunk(0).error().message, HasSubstr("0 tokens"));
  EXPECT_THAT(sequence.BeginChunk(101).error().message, HasSubstr("100 tokens are known"));
  EXPECT_THAT(sequence.BeginChunk(257).error().message, HasSubstr("1 to 256"));
  EXPECT_EQ(sequence.token_count(), 0U);
}

TEST(Sequence, WithoutRoomAChunkFailsAndChangesNothing) {
  const ToyModel model = Model();
  Host host(model, 3, 3);
  ToyRun run = Begin(host, model, Tokens(500));
  ASSERT_TRUE(run.Step(256));
  const auto none = run.sequence().BeginChunk(200);  // 456 positions lie in 4 tiles
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(none.error().message, HasSubstr("full KV pool"));
  EXPECT_EQ(run.sequence().token_count(), 256U);
  EXPECT_EQ(host.pools.stats().full.used_tiles, 2U);
  EXPECT_TRUE(run.Step(128));  // the third tile is still free
}

TEST(Sequence, ADroppedChunkLeavesTheSequenceAsItWas) {
  const ToyModel model = Model();
  Host host(model);
  const std::vector<Token> tokens = Tokens(600);
  ToyRun run = Begin(host, model, tokens);
  ASSERT_TRUE(run.Step(200));
  ASSERT_TRUE(run.StepAndDrop(250, 0));
  EXPECT_EQ(run.sequence().token_count(), 200U);
  const auto states = run.Step(256);
  ASSERT_TRUE(states);
  const std::vector<uint64_t> cold = ColdRun(model, tokens);
  EXPECT_EQ(*states, std::vector<uint64_t>(cold.begin() + 200, cold.begin() + 456));
}

TEST(Sequence, AChunkDroppedBehindAWindowLayerEndsTheSequenceAndPublishesNothingWrong) {
  const ToyModel model = Model();
  Host host(model);
  ToyRun run = Begin(host, model, Tokens(600));
  ASSERT_TRUE(run.Step(200));
  ASSERT_TRUE(run.StepAndDrop(250, 1));
  const auto chunk = run.sequence().BeginChunk(10);
  ASSERT_FALSE(chunk);
  EXPECT_THAT(chunk.error().message, HasSubstr("begin the sequence again"));
  run.sequence().Finish();
  // Only the whole tile that Commit had published is there; Answer compares with a cold run.
  EXPECT_EQ(Answer(host, model, Tokens(600)).reused, 128U);
}

TEST(Sequence, StatsAndHandlesOutliveOneAnotherInAnyOrder) {
  const ToyModel model = Model();
  std::optional<Host> host(model);
  std::optional<ToyRun> run(Begin(*host, model, Tokens(300)));
  ASSERT_TRUE(run->Step(256));
  const Pin pin = host->cache.PinPrefix("a", Tokens(200));
  host.reset();
  ASSERT_TRUE(run->Step(44));
  run->sequence().Finish();
  run.reset();
  EXPECT_EQ(pin.token_count(), 200U);
}

}  // namespace
}  // namespace weir::kv
