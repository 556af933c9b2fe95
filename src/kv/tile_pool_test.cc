#include "kv/tile_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace weir {
namespace {

// One tile: 2 layers * (4 + 8) * 128 * 2 = 6,144 bytes.
const KvGroup kGroup{.layer_count = 2, .kv_heads = 1, .k_dim = 4, .v_dim = 8};

TEST(TilePool, HoldsAsManyTilesAsTheBudgetAndThenNone) {
  TilePool pool(kGroup, 3 * 6144 + 6143);
  EXPECT_EQ(pool.tile_count(), 3U);
  EXPECT_EQ(pool.bytes(), 3 * 6144U);
  std::set<uint32_t> ids;
  std::vector<TileRef> refs;
  for (int i = 0; i < 3; ++i) {
    refs.push_back(pool.Allocate());
    ids.insert(refs.back().id().value());
  }
  EXPECT_EQ(ids, (std::set<uint32_t>{1, 2, 3}));  // slot 0 is "none"
  EXPECT_FALSE(pool.Allocate());
  EXPECT_EQ(pool.used_count(), 3U);
}

TEST(TilePool, FreesATileWithItsLastReference) {
  TilePool pool(kGroup, 6144);
  TileRef first = pool.Allocate();
  const TileId id = first.id();
  EXPECT_TRUE(first.is_exclusive());
  {
    const TileRef second = first.Share();
    EXPECT_EQ(second.id(), id);
    EXPECT_EQ(pool.reference_count(id), 2U);
    EXPECT_FALSE(first.is_exclusive());
    first = TileRef();
    EXPECT_EQ(pool.free_count(), 0U);
  }
  EXPECT_EQ(pool.free_count(), 1U);
  EXPECT_EQ(first.id(), TileId());
}

TEST(TilePool, GivesOutAFreshSlotOnlyWhenAllUsedOnesAreTaken) {
  TilePool pool(kGroup, 4 * 6144);
  EXPECT_EQ(pool.peak_count(), 0U);
  std::vector<TileRef> refs;
  for (int i = 0; i < 2; ++i) refs.push_back(pool.Allocate());
  refs.clear();
  for (int i = 0; i < 2; ++i) refs.push_back(pool.Allocate());
  EXPECT_EQ(pool.peak_count(), 2U);
  refs.erase(refs.begin());
  refs.push_back(pool.Allocate());
  EXPECT_EQ(pool.peak_count(), 2U);
  refs.push_back(pool.Allocate());
  EXPECT_EQ(refs.back().id(), TileId(3));
  EXPECT_EQ(pool.peak_count(), 3U);
}

TEST(TilePool, MovingAReferenceOntoAnotherFreesTheOverwrittenTileAtOnce) {
  TilePool pool(kGroup, 2 * 6144);
  TileRef a = pool.Allocate();
  TileRef b = pool.Allocate();
  const TileId kept = b.id();
  a = std::move(b);
  EXPECT_EQ(a.id(), kept);
  EXPECT_EQ(pool.used_count(), 1U);
}

TEST(TilePool, PlanesOfAllTilesAndLayersAreApartAndAligned) {
  TilePool pool(kGroup, 2 * 6144);
  const TileRef a = pool.Allocate();
  const TileRef b = pool.Allocate();
  uint8_t mark = 0;
  std::vector<std::pair<std::byte*, size_t>> planes;
  for (const TileRef* tile : {&a, &b}) {
    for (uint32_t layer = 0; layer < 2; ++layer) {
      planes.emplace_back(pool.KeyPlane(tile->id(), layer), 1024);    // 4 * 128 * 2
      planes.emplace_back(pool.ValuePlane(tile->id(), layer), 2048);  // 8 * 128 * 2
    }
  }
  for (const auto& [plane, bytes] : planes) std::memset(plane, ++mark, bytes);
  mark = 0;
  for (const auto& [plane, bytes] : planes) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(plane) % 64, 0U);
    const std::vector<std::byte> expected(bytes, std::byte{++mark});
    EXPECT_EQ(std::memcmp(plane, expected.data(), bytes), 0);
  }
}

}  // namespace
}  // namespace weir
