#include "weir/pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace weir::kv {
namespace {

using testing::HasSubstr;

// A full tile: 2 layers * 128 rows * (6 + 4) bytes = 2,560; a window tile: 3 * 128 * (2 + 0) = 768.
Layout SmallLayout() {
  return {.full = LayerGroup{.layer_count = 2, .key_bytes = 6, .value_bytes = 4},
          .window = LayerGroup{.layer_count = 3, .key_bytes = 2, .window = 200}};
}

std::string Refusal(const Layout& layout, const Budget& budget = {1 << 20, 1 << 20},
                    uint32_t max_chunk_tokens = 256) {
  const auto pools = Pools::Create(layout, budget, max_chunk_tokens);
  return pools ? "" : pools.error().message;
}

TEST(Pools, HoldAsManyWholeTilesAsTheirBytesAllow) {
  const auto pools = Pools::Create(SmallLayout(), {5 * 2560 + 2559, 4 * 768}, 300);
  ASSERT_TRUE(pools);
  const PoolsStats stats = pools->stats();
  EXPECT_EQ(stats.full.tile_bytes, 2560U);
  EXPECT_EQ(stats.full.tiles, 5U);
  EXPECT_EQ(stats.full.used_tiles, 0U);
  EXPECT_EQ(stats.window.tile_bytes, 768U);
  EXPECT_EQ(stats.window.tiles, 4U);
  // 300 tokens touch at most 4 tiles; one layer's planes of a window tile are 256 bytes.
  EXPECT_EQ(stats.scratch_bytes, 4U * 256);
  EXPECT_EQ(pools->MaxSequenceTokens(), 5U * 128);
  EXPECT_EQ(pools->max_chunk_tokens(), 300U);
}

TEST(Pools, ASplitGivesLiveWindowsTheirBytesFirst) {
  // W = 200 lives in ceil(199 / 128) + 1 = 3 tiles: 2 sequences need 6 * 768 = 4,608 bytes
  const auto budget = SplitBudget(SmallLayout(), 100'000, {.sequences = 2, .window_share = 0});
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->window_bytes, 4608U);
  EXPECT_EQ(budget->full_bytes, 100'000U - 4608);
  const auto none = SplitBudget(SmallLayout(), 2560 + 767);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("3327"));
}

TEST(Pools, ALayoutThatCannotBeIsRefusedWithItsNumbers) {
  EXPECT_THAT(Refusal({}), HasSubstr("without layers"));
  Layout layout = SmallLayout();
  layout.full->layer_count = 0;
  EXPECT_THAT(Refusal(layout), HasSubstr("0 layers"));
  layout = SmallLayout();
  layout.full->layer_count = 70'000;
  EXPECT_THAT(Refusal(layout), HasSubstr("70000 layers"));
  layout = SmallLayout();
  layout.full->key_bytes = 0;
  EXPECT_THAT(Refusal(layout), HasSubstr("0 key and 4 value bytes"));
  layout = SmallLayout();
  layout.full->value_bytes = 1U << 25;
  EXPECT_THAT(Refusal(layout), HasSubstr("33554432 value bytes"));
  layout = SmallLayout();
  layout.full->window = 5;
  EXPECT_THAT(Refusal(layout), HasSubstr("window of 5 tokens"));
  layout = SmallLayout();
  layout.window->window = 0;
  EXPECT_THAT(Refusal(layout), HasSubstr("window of 0 tokens"));
  EXPECT_EQ(Refusal(SmallLayout()), "");
}

TEST(Pools, ABudgetWithoutATileAndAChunkWithoutTokensAreRefused) {
  EXPECT_THAT(Refusal(SmallLayout(), {2559, 768}), HasSubstr("2559 bytes hold no tile of 2560"));
  EXPECT_THAT(Refusal(SmallLayout(), {2560, 767}), HasSubstr("767 bytes hold no tile of 768"));
  EXPECT_THAT(Refusal(SmallLayout(), {2560, 768}, 0), HasSubstr("chunks of 0 tokens"));
  EXPECT_EQ(Refusal(SmallLayout(), {2560, 768}, 1), "");
}

TEST(Pools, ABudgetBeyondTheMachineIsRefusedBeforeAnythingIsReserved) {
  constexpr uint64_t kHuge = uint64_t{1} << 60;
  for (const Budget& budget : {Budget{kHuge, 768}, Budget{2560, kHuge}, Budget{~0ULL, ~0ULL}}) {
    const auto pools = Pools::Create(SmallLayout(), budget, 256);
    ASSERT_FALSE(pools);
    EXPECT_EQ(pools.error().code, ErrorCode::kResourceExhausted);
    EXPECT_THAT(pools.error().message, HasSubstr("the machine has"));
  }
}

}  // namespace
}  // namespace weir::kv
