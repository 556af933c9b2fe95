#include "kv/layout.h"

#include <gtest/gtest.h>

#include "kv/kv_cache.h"

namespace weir {
namespace {

KvLayout Gemma270M() {
  return {.full = KvGroup{.layer_count = 3, .kv_heads = 1, .k_dim = 256, .v_dim = 256},
          .window =
              KvGroup{.layer_count = 15, .kv_heads = 1, .k_dim = 256, .v_dim = 256, .window = 512}};
}

TEST(KvGroup, TileBytesOfGemma270MAre128PositionsOfAllLayersInF16) {
  // 3 layers * 128 positions * (256 + 256) values * 2 bytes; 15 layers likewise
  EXPECT_EQ(Gemma270M().full->tile_bytes(), 393'216U);
  EXPECT_EQ(Gemma270M().window->tile_bytes(), 1'966'080U);
}

TEST(KvGroup, TileBytesOfMimoV25ProCountKAndVDimsApart) {
  // 10 full layers and 60 window layers of 8 KV heads, qk 192, v 128
  const KvGroup full{.layer_count = 10, .kv_heads = 8, .k_dim = 192, .v_dim = 128};
  const KvGroup window{.layer_count = 60, .kv_heads = 8, .k_dim = 192, .v_dim = 128, .window = 128};
  EXPECT_EQ(full.tile_bytes(), 6'553'600U);
  EXPECT_EQ(window.tile_bytes(), 39'321'600U);
  EXPECT_EQ(full.k_plane_bytes(), 393'216U);  // 8 * 192 * 128 * 2
  EXPECT_EQ(full.v_plane_bytes(), 262'144U);  // 8 * 128 * 128 * 2
}

TEST(KvGroup, AWindowOfWTokensTouchesAtMostCeilOfWMinusOneOver128PlusOneTiles) {
  const auto most = [](uint32_t window) { return KvGroup{.window = window}.max_window_tiles(); };
  EXPECT_EQ(most(1), 1U);
  EXPECT_EQ(most(2), 2U);
  EXPECT_EQ(most(100), 2U);
  EXPECT_EQ(most(128), 2U);
  EXPECT_EQ(most(129), 2U);
  EXPECT_EQ(most(130), 3U);
  EXPECT_EQ(most(512), 5U);
  EXPECT_EQ(most(1000), 9U);
}

TEST(KvLayout, WindowBytesStopGrowingAtTheWindow) {
  const KvLayout layout = Gemma270M();
  EXPECT_EQ(layout.FullBytes(0), 0U);
  EXPECT_EQ(layout.FullBytes(1), 393'216U);
  EXPECT_EQ(layout.FullBytes(16'384), 128 * 393'216U);
  EXPECT_EQ(layout.WindowBytes(0), 0U);
  EXPECT_EQ(layout.WindowBytes(129), 2 * 1'966'080U);
  EXPECT_EQ(layout.WindowBytes(16'384), 5 * 1'966'080U);
}

TEST(SplitBudget, GivesTheWindowPoolWhatItsSequencesNeedAndTheFullPoolTheRest) {
  const auto budget = SplitBudget(Gemma270M(), 100'000'000, {.sequences = 2, .window_share = 0});
  ASSERT_TRUE(budget.has_value());
  EXPECT_EQ(budget->window_bytes, 10 * 1'966'080U);  // 2 sequences of 5 tiles
  EXPECT_EQ(budget->full_bytes, 100'000'000U - 19'660'800U);
}

TEST(SplitBudget, KeepsWindowsForReturningPromptsUpToTheirShare) {
  const auto half = SplitBudget(Gemma270M(), 100'000'000, {.window_share = 0.5});
  ASSERT_TRUE(half.has_value());
  EXPECT_EQ(half->window_bytes, 25 * 1'966'080U);  // 50,000,000 bytes hold 25 tiles
  // A context of 24,000 tokens takes 188 full tiles, 73,924,608 bytes: 13 window tiles are left.
  const auto context =
      SplitBudget(Gemma270M(), 100'000'000, {.context_tokens = 24'000, .window_share = 0.5});
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->window_bytes, 13 * 1'966'080U);
}

// 3 x (14 full tiles + 5 window tiles) fit: windows for more of 16 would leave no room for
// contexts.
TEST(SplitBudget, GivesWindowsToAsManySequencesAsHaveRoomForTheirContexts) {
  const auto budget =
      SplitBudget(Gemma270M(), 47'972'352, {.sequences = 16, .context_tokens = 1792});
  ASSERT_TRUE(budget.has_value());
  EXPECT_EQ(budget->window_bytes, 15 * 1'966'080U);
}

TEST(SplitBudget, KeepsNoMoreWindowTilesThanFullTilesWhenMemoryIsShort) {
  const auto budget = SplitBudget(Gemma270M(), 5'000'000, {});  // 2 tiles of each: 4,718,592
  ASSERT_TRUE(budget.has_value());
  EXPECT_EQ(budget->window_bytes, 2 * 1'966'080U);
  const KvCache cache(Gemma270M(), *budget, 128);
  EXPECT_EQ(cache.full_pool()->tile_count(), 2U);
  EXPECT_EQ(cache.MaxSequenceTokens(), 256U);
}

TEST(SplitBudget, RefusesABudgetBelowOneTileOfEachGroupAndNamesTheNumbers) {
  const auto budget = SplitBudget(Gemma270M(), 2'359'295, {});  // one byte short
  ASSERT_FALSE(budget.has_value());
  EXPECT_EQ(budget.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(budget.error().message.find("2359295"), std::string::npos);
  EXPECT_NE(budget.error().message.find("1966080"), std::string::npos);
  EXPECT_TRUE(SplitBudget(Gemma270M(), 2'359'296, {}).has_value());
}

TEST(SplitBudget, GivesAllToTheOnlyGroup) {
  const KvLayout full_only{.full = Gemma270M().full};
  const KvLayout window_only{.window = Gemma270M().window};
  EXPECT_EQ(SplitBudget(full_only, 1'000'000, {})->full_bytes, 1'000'000U);
  EXPECT_EQ(SplitBudget(window_only, 9'999'999, {})->window_bytes, 9'999'999U);
}

TEST(KvCache, ScratchHoldsOneLayerOfAChunkAndNotAllLayers) {
  // MiMo-V2.5-Pro window layer: 655,360 bytes a tile; 2,048 tokens touch at most 17 tiles
  const KvLayout layout{
      .window =
          KvGroup{.layer_count = 60, .kv_heads = 8, .k_dim = 192, .v_dim = 128, .window = 129}};
  const KvCache cache(layout, KvBudget{.window_bytes = 2 * 39'321'600}, 2048);
  EXPECT_EQ(cache.scratch_bytes(), 17 * 655'360U);
  EXPECT_EQ(cache.full_pool(), nullptr);
}

TEST(KvCache, ALoneSequenceIsBoundByTheFullPoolOnceWholeWindowsFit) {
  const KvCache cache(Gemma270M(), {.full_bytes = 40 * 393'216, .window_bytes = 5 * 1'966'080}, 8);
  EXPECT_EQ(cache.MaxSequenceTokens(), 40U * 128);
}

}  // namespace
}  // namespace weir
