#include "kv/replay.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

constexpr KvLayer kFull{KvGroupKind::kFull, 0};
constexpr KvLayer kWindow{KvGroupKind::kWindow, 0};

std::vector<KvLayer> Layers(uint32_t count, uint32_t full_every) {
  std::vector<KvLayer> layers(count, kWindow);
  for (uint32_t i = full_every - 1; i < count; i += full_every) layers[i] = kFull;
  return layers;
}

KvLayout Layout(uint32_t window, const TileCodec* codec = nullptr) {
  return {
      .full = KvGroup{.layer_count = 1, .kv_heads = 1, .k_dim = 1, .v_dim = 1, .codec = codec},
      .window = KvGroup{.layer_count = 1, .kv_heads = 1, .k_dim = 1, .v_dim = 1, .window = window}};
}

TEST(ReplayBegin, GoesBackOneWindowForEachWindowLayer) {
  // Gemma 3 270M: 18 layers, every 6th full, W = 512: 15 * 511 = 7,665.
  EXPECT_EQ(ReplayBegin(Layers(18, 6), Layout(512), 20000), 20000U - 7665U);
  EXPECT_EQ(ReplayBegin(Layers(18, 6), Layout(512), 7000), 0U);
  // MiMo-V2.5-Pro: 60 window layers, W = 129: 7,680.
  std::vector<KvLayer> mimo(70, kWindow);
  for (const uint32_t full : {0, 7, 15, 23, 31, 39, 47, 55, 62, 69}) mimo[full] = kFull;
  EXPECT_EQ(ReplayBegin(mimo, Layout(129), 100000), 100000U - 7680U);
}

TEST(ReplayBegin, GoesBackToTheStartOfATileForEachFullLayerCodedPerTile) {
  const TileCodec whole{.name = "r0", .residual_tiles = 0};
  const TileCodec residual{.name = "r1", .residual_tiles = 1};
  const std::vector<KvLayer> layers = {kFull, kWindow, kFull};
  // Top: 1000 -> 896 (tile 7); window: 896 - 9 = 887; full: 768 (tile 6).
  EXPECT_EQ(ReplayBegin(layers, Layout(10, &whole), 1000), 768U);
  // Top: 128 (7 - 1) = 768; window: 759 (tile 5); full: 128 (5 - 1) = 512.
  EXPECT_EQ(ReplayBegin(layers, Layout(10, &residual), 1000), 512U);
}

TEST(ReplayableFrom, IsTheLongestReplay) {
  // With 15 windows of 511 rows the topmost begins at a tile's start, at most 127 earlier.
  EXPECT_EQ(ReplayableFrom(Layers(18, 6), Layout(512)), 7665U + 127U);
  EXPECT_EQ(ReplayableFrom({}, Layout(512)), UINT32_MAX);
  EXPECT_EQ(ReplayableFrom(std::vector<KvLayer>{kFull}, Layout(512)), 0U);
}

TEST(PlanReplay, ComputesTheFirstWindowTileFromItsStart) {
  const std::vector<KvLayer> layers = {kWindow, kFull, kWindow, kFull};
  const ReplaySpan span = PlanReplay(layers, Layout(200), 1000);
  EXPECT_EQ(span.window_whole_from, 768U);  // tile of 1000 - 199 = 801
  EXPECT_EQ(span.begin, 768U - 199U);
}

}  // namespace
}  // namespace weir
