#include "sched/memory_ledger.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// W = 200: at most 3 window tiles a sequence.
KvLayout Layout() {
  const KvGroup full{.layer_count = 1, .kv_heads = 1, .k_dim = 8, .v_dim = 8};
  KvGroup window = full;
  window.window = 200;
  return {.full = full, .window = window};
}

struct Pools {
  explicit Pools(uint32_t full_tiles, uint32_t window_tiles)
      : cache(Layout(),
              {.full_bytes = full_tiles * Layout().full->tile_bytes(),
               .window_bytes = window_tiles * Layout().window->tile_bytes()},
              300) {}
  KvCache cache;
};

SequenceView ViewOf(KvCache& cache, uint32_t tokens) {
  SequenceView view(cache);
  KvChunk chunk = std::move(*view.BeginChunk(tokens));
  chunk.EndLayer({KvGroupKind::kFull, 0});
  chunk.EndLayer({KvGroupKind::kWindow, 0});
  view.Commit(std::move(chunk));
  return view;
}

TEST(MemoryLedger, AnEmptyCacheHoldsWhatItsPoolsHold) {
  Pools pools(10, 3);
  MemoryLedger ledger(pools.cache);
  ledger.Begin();
  EXPECT_TRUE(ledger.HasRoomFor(1280, {}));
  EXPECT_FALSE(ledger.HasRoomFor(1281, {}));
}

TEST(MemoryLedger, WhatIsPromisedCountsBeforeItIsTaken) {
  Pools pools(10, 6);
  const SequenceView view = ViewOf(pools.cache, 200);  // 2 tiles, 4 more promised
  MemoryLedger ledger(pools.cache);
  ledger.Begin();
  ledger.AddRunning(view, 700);
  EXPECT_EQ(ledger.ReservedFullTiles(view, 700), 4U);
  EXPECT_EQ(ledger.ReservedFullTiles(view, 100), 0U);
  EXPECT_TRUE(ledger.HasRoomFor(512, {}));
  EXPECT_FALSE(ledger.HasRoomFor(513, {}));
  ledger.Begin();
  ledger.AddRunning(view, 100);  // it has outgrown that
  EXPECT_TRUE(ledger.HasRoomFor(1024, {}));
  EXPECT_FALSE(ledger.HasRoomFor(1025, {}));
}

TEST(MemoryLedger, EachSequenceTakesItsWindowWhateverItsLength) {
  Pools pools(100, 7);
  const SequenceView view = ViewOf(pools.cache, 200);
  MemoryLedger ledger(pools.cache);
  ledger.Begin();
  ledger.AddRunning(view, 5000);
  EXPECT_TRUE(ledger.HasRoomFor(5000, {}));
  ledger.AddRunning(view, 5000);
  EXPECT_TRUE(ledger.HasRoomFor(128, {}));
  EXPECT_FALSE(ledger.HasRoomFor(129, {}));
}

TEST(MemoryLedger, SharedTilesCountOnceAndOnlyIfARunningSequenceHasThem) {
  Pools pools(5, 9);
  const SequenceView view = ViewOf(pools.cache, 256);
  const std::vector<TileId> shared = {view.FullTile(0), view.FullTile(1)};
  MemoryLedger ledger(pools.cache);
  ledger.Begin();
  ledger.AddRunning(view, 256);
  EXPECT_TRUE(ledger.HasRoomFor(640, shared));  // 2 shared and 3 of its own
  EXPECT_FALSE(ledger.HasRoomFor(641, shared));
  ledger.AddRunning(view, 256);  // another that shares all
  EXPECT_TRUE(ledger.HasRoomFor(640, shared));
  ledger.Begin();  // nobody runs: they are only cached
  EXPECT_TRUE(ledger.HasRoomFor(640, shared));
  EXPECT_FALSE(ledger.HasRoomFor(641, shared));
}

}  // namespace
}  // namespace weir
