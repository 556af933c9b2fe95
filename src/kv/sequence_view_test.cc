#include "kv/sequence_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace weir {
namespace {

constexpr uint32_t kTokens = 4000;

KvLayout Layout(uint32_t window) {
  return {
      .full = KvGroup{.layer_count = 1, .kv_heads = 1, .k_dim = 2, .v_dim = 3},
      .window = KvGroup{.layer_count = 2, .kv_heads = 2, .k_dim = 1, .v_dim = 2, .window = window}};
}

// Bytes of `full` and `window` tiles of Layout(): 1 * (2 + 3) * 256 and 2 * 2 * (1 + 2) * 256.
KvBudget Budget(uint32_t full, uint32_t window) {
  return {.full_bytes = full * uint64_t{1280}, .window_bytes = window * uint64_t{3072}};
}

void EndAllLayers(KvChunk& chunk) {
  chunk.EndLayer({KvGroupKind::kFull, 0});
  chunk.EndLayer({KvGroupKind::kWindow, 0});
  chunk.EndLayer({KvGroupKind::kWindow, 1});
}

void Advance(SequenceView& view, uint32_t tokens, const RetainPlan& retain = {}) {
  auto chunk = view.BeginChunk(tokens, retain);
  ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
  EndAllLayers(*chunk);
  view.Commit(std::move(*chunk));
}

// Tiles with a position that the query at `next` sees besides itself, counted one position at a
// time.
uint32_t ExpectedWindowTiles(uint32_t window, uint32_t next) {
  uint32_t count = 0;
  uint32_t last_tile = UINT32_MAX;
  for (uint32_t j = 0; j < next; ++j) {
    if (j + window <= next || j / 128 == last_tile) continue;  // next - W < j
    last_tile = j / 128;
    ++count;
  }
  return count;
}

struct Schedule {
  const char* name;
  std::vector<uint32_t> chunks;  // repeated until 4,000 tokens
};

class EveryChunking : public testing::TestWithParam<std::tuple<uint32_t /*window*/, Schedule>> {};

TEST_P(EveryChunking, OwnsExactlyTheTilesThatQueriesSeeAndGivesAllBack) {
  const auto& [window, schedule] = GetParam();
  const uint32_t bound = (window - 1 + 127) / 128 + 1;  // ceil((W-1)/128) + 1
  // Not one tile more than the bound: a chunk that took more, even for a moment, would fail.
  KvCache cache(Layout(window), Budget(32, bound), 2048);
  {
    SequenceView view(cache);
    for (size_t step = 0; view.token_count() < kTokens; ++step) {
      const uint32_t wanted = schedule.chunks[step % schedule.chunks.size()];
      const uint32_t tokens = std::min(wanted, kTokens - view.token_count());
      const uint32_t end = view.token_count() + tokens;
      auto chunk = view.BeginChunk(tokens);
      ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
      EXPECT_LE(view.window_tile_count(), bound);
      EXPECT_EQ(view.window_tile_count(), cache.window_pool()->used_count());
      EndAllLayers(*chunk);
      EXPECT_LE(cache.window_pool()->used_count(), bound);
      view.Commit(std::move(*chunk));
      ASSERT_EQ(view.token_count(), end);
      ASSERT_EQ(view.window_tile_count(), ExpectedWindowTiles(window, end)) << "at " << end;
      ASSERT_EQ(view.full_tile_count(), (end + 127) / 128) << "at " << end;
      ASSERT_EQ(cache.window_pool()->used_count(), view.window_tile_count());
      ASSERT_EQ(cache.full_pool()->used_count(), view.full_tile_count());
    }
  }
  EXPECT_EQ(cache.window_pool()->used_count(), 0U);
  EXPECT_EQ(cache.full_pool()->used_count(), 0U);
  EXPECT_EQ(cache.window_scratch()->free_count(), cache.window_scratch()->slot_count());
}

INSTANTIATE_TEST_SUITE_P(
    Windows, EveryChunking,
    testing::Combine(testing::Values(1, 2, 100, 128, 129, 512, 1000),
                     testing::Values(Schedule{"By1", {1}}, Schedule{"By7", {7}},
                                     Schedule{"By64", {64}}, Schedule{"By127", {127}},
                                     Schedule{"By128", {128}}, Schedule{"By512", {512}},
                                     Schedule{"By2048", {2048}},
                                     Schedule{"Mixed", {2048, 1, 1, 1, 7, 512, 64, 127, 128, 300}},
                                     Schedule{"TurnsOfChat", {513, 1, 1, 1, 1, 1, 40, 1, 1, 90}})),
    [](const auto& test) {
      return fmt::format("W{}{}", std::get<0>(test.param), std::get<1>(test.param).name);
    });

TEST(SequenceView, AFullPoolTooSmallIsAnErrorThatNamesPoolAndBytesAndTakesNothing) {
  KvCache cache(Layout(100), Budget(4, 8), 2048);
  SequenceView view(cache);
  Advance(view, 300);  // 3 tiles of 4
  const auto chunk = view.BeginChunk(300);
  ASSERT_FALSE(chunk.has_value());
  EXPECT_EQ(chunk.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(chunk.error().message.find("full KV pool"), std::string::npos);
  EXPECT_NE(chunk.error().message.find("2560 bytes"), std::string::npos);  // 2 more tiles
  EXPECT_EQ(view.token_count(), 300U);
  EXPECT_EQ(cache.full_pool()->used_count(), 3U);
  EXPECT_EQ(cache.window_pool()->used_count(), 2U);  // rows 201..299
  Advance(view, 200);                                // what fits still runs
  EXPECT_EQ(view.token_count(), 500U);
}

TEST(SequenceView, AWindowPoolTooSmallForASecondSequenceLeavesTheFirstAlone) {
  KvCache cache(Layout(512), Budget(100, 5), 2048);
  SequenceView first(cache);
  Advance(first, 600);  // rows 89..599: all 5 tiles
  SequenceView second(cache);
  const auto chunk = second.BeginChunk(1);
  ASSERT_FALSE(chunk.has_value());
  EXPECT_EQ(chunk.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(chunk.error().message.find("window KV pool"), std::string::npos);
  EXPECT_NE(chunk.error().message.find("3072 bytes"), std::string::npos);
  EXPECT_EQ(cache.full_pool()->used_count(), 5U);
  Advance(first, 2000);
}

TEST(SequenceView, ADroppedChunkGivesItsTilesBackAndTheViewGoesOn) {
  KvCache cache(Layout(100), Budget(10, 4), 2048);
  SequenceView view(cache);
  Advance(view, 150);
  {
    const auto chunk = view.BeginChunk(500);
    ASSERT_TRUE(chunk.has_value());
    EXPECT_EQ(cache.full_pool()->used_count(), 6U);  // ceil(650 / 128)
  }
  EXPECT_EQ(cache.full_pool()->used_count(), 2U);
  EXPECT_EQ(view.token_count(), 150U);
  Advance(view, 500);
  EXPECT_EQ(view.full_tile_count(), 6U);
}

TEST(SequenceView, KeptTilesGoWhenTheyAreReleased) {
  KvCache cache(Layout(100), Budget(10, 8), 2048);
  SequenceView view(cache);
  Advance(view, 500, {.resume_positions = {}, .keep_interior = true});
  EXPECT_EQ(view.window_tile_count(), 1U);  // rows 401..499; tiles 0, 1 and 2 are kept
  EXPECT_EQ(cache.window_pool()->used_count(), 4U);
  EXPECT_TRUE(view.TilesAt(1).window);
  view.ReleaseKept();
  EXPECT_EQ(cache.window_pool()->used_count(), 1U);
  EXPECT_FALSE(view.TilesAt(1).window);
}

TEST(SequenceView, ALeavingTileThatAnotherHoldsIsKeptWithoutAFreeSlot) {
  // window 130    [ tile 0      ][ tile 1      ][ tile 2
  // tail             ..99
  // live at 260                 131..........259
  KvCache cache(Layout(130), Budget(10, 3), 2048);
  SequenceView view(cache);
  Advance(view, 100);
  const NodeTiles tail = view.TilesAt(0);
  Advance(view, 160, {.resume_positions = {}, .keep_interior = true});
  EXPECT_EQ(view.window_tile_count(), 2U);
  EXPECT_EQ(view.TilesAt(0).window.id(), tail.window.id());
}

// What `view` has of every tile before `position`.
PrefixTiles PrefixOf(const SequenceView& view, uint32_t position) {
  PrefixTiles prefix{.position = position, .tiles = {}};
  for (uint32_t tile = 0; tile * 128 < position; ++tile) prefix.tiles.push_back(view.TilesAt(tile));
  return prefix;
}

TEST(SequenceView, ALeavingTileThatAnotherSequenceSeesIsNotWrittenOver) {
  // window 130, both at 256: rows 127..255 in tiles 0 and 1
  // the second at 556:       rows 427..555 in tiles 3 and 4
  KvCache cache(Layout(130), Budget(10, 4), 2048);
  SequenceView first(cache);
  Advance(first, 256);
  const TileId seen = first.TilesAt(1).window.id();
  const uint64_t bytes = cache.window_pool()->group().tile_bytes();
  std::memset(cache.window_pool()->KeyPlane(seen, 0), 0x5A, bytes);
  SequenceView second(cache);
  ASSERT_TRUE(second.Adopt(PrefixOf(first, 256)).has_value());
  EXPECT_EQ(second.TilesAt(1).window.id(), seen);
  Advance(second, 300);
  EXPECT_EQ(cache.window_pool()->used_count(), 4U);
  const std::vector<std::byte> expected(bytes, std::byte{0x5A});
  EXPECT_EQ(std::memcmp(cache.window_pool()->KeyPlane(seen, 0), expected.data(), bytes), 0);
}

TEST(SequenceView, ATileThatOneOtherHasIsGivenUpForItsSlot) {
  KvCache cache(Layout(130), Budget(10, 4), 2048);
  SequenceView view(cache);
  Advance(view, 256);  // rows 127..255 in tiles 0 and 1; from there on tiles 0, 1 and 2 leave
  EXPECT_EQ(view.NeedFor(300, {}).window, 0U);
  EXPECT_TRUE(view.LeavingTiles().empty());  // nobody else has them
  const NodeTiles one = view.TilesAt(0);
  const NodeTiles other = view.TilesAt(1);
  const NodeTiles third = view.TilesAt(1);
  EXPECT_EQ(view.NeedFor(300, {}).window, 2U);
  const std::vector<NodeTiles> leaving = view.LeavingTiles();
  ASSERT_EQ(leaving.size(), 1U);  // the second is not free when one lets go
  EXPECT_EQ(leaving[0].window.id(), one.window.id());
}

TEST(SequenceView, AdoptingNeedsACopyOfATileInPartThatOthersHave) {
  KvCache cache(Layout(130), Budget(10, 4), 2048);
  PrefixTiles prefix;
  {
    SequenceView view(cache);
    Advance(view, 200);
    prefix = PrefixOf(view, 200);
    EXPECT_EQ(SequenceView::AdoptNeed(prefix).full, 1U);
    EXPECT_EQ(SequenceView::AdoptNeed(prefix).window, 1U);
    const ReplaySpan replay{.begin = 10, .window_whole_from = 10, .owed_whole_from = 10};
    EXPECT_EQ(SequenceView::AdoptNeed(prefix, replay).full, 1U);
    EXPECT_EQ(SequenceView::AdoptNeed(prefix, replay).window, 0U);
    EXPECT_EQ(SequenceView::AdoptNeed(PrefixOf(view, 128)).full, 0U);
  }
  EXPECT_EQ(SequenceView::AdoptNeed(prefix).full, 0U);  // now it is the only one
  const TileId mine = prefix.tiles[1].window.id();
  SequenceView view(cache);
  ASSERT_TRUE(view.Adopt(std::move(prefix)).has_value());
  EXPECT_EQ(view.TilesAt(1).window.id(), mine);
}

TEST(SequenceView, AReplayLendsNoTileFromBeforeItsRowsAreWhole) {
  // window 300, resumed at 600: rows 301..599 in tiles 2, 3 and 4; computed from 100 on
  KvCache cache(Layout(300), Budget(10, 10), 2048);
  PrefixTiles prefix;
  {
    SequenceView donor(cache);
    Advance(donor, 600);
    prefix = PrefixOf(donor, 600);
  }
  for (NodeTiles& tiles : prefix.tiles) tiles.window = TileRef();
  SequenceView view(cache);
  const ReplaySpan span{.begin = 100, .window_whole_from = 256, .owed_whole_from = 600};
  ASSERT_TRUE(view.Adopt(std::move(prefix), span).has_value());
  Advance(view, 500, {.resume_positions = {}, .keep_interior = true});
  ASSERT_EQ(view.token_count(), 600U);
  EXPECT_FALSE(view.TilesAt(0).window);
  EXPECT_FALSE(view.TilesAt(1).window);  // kept, but its first rows saw too little
  EXPECT_TRUE(view.TilesAt(2).window);
}

TEST(SequenceView, MayBeMovedWhileAChunkIsOpen) {
  KvCache cache(Layout(100), Budget(10, 4), 2048);
  SequenceView view(cache);
  auto chunk = view.BeginChunk(10);
  ASSERT_TRUE(chunk.has_value());
  SequenceView moved = std::move(view);
  EndAllLayers(*chunk);
  moved.Commit(std::move(*chunk));
  EXPECT_EQ(moved.token_count(), 10U);
}

TEST(SequenceView, SeveralSequencesShareTheScratchOfOneStep) {
  KvCache cache(Layout(100), Budget(10, 4), 256);  // scratch of 3 tiles
  SequenceView first(cache);
  SequenceView second(cache);
  auto a = first.BeginChunk(128);
  auto b = second.BeginChunk(200);
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(cache.window_scratch()->free_count(), 0U);
  SequenceView third(cache);
  EXPECT_EQ(third.BeginChunk(1).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace weir
