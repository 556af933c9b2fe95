#include "kv/window_plan.h"

#include <gtest/gtest.h>

#include <ostream>

namespace weir {

bool operator==(const TileRange& a, const TileRange& b) {
  return (a.count() == 0 && b.count() == 0) || (a.first == b.first && a.end == b.end);
}
std::ostream& operator<<(std::ostream& out, const TileRange& range) {
  return out << "[" << range.first << ", " << range.end << ")";
}

namespace {

RecentRule Window(uint32_t tokens) { return {RecentRule::Kind::kWindow, tokens}; }
RecentRule Owed(uint32_t residual) { return {RecentRule::Kind::kOwed, residual}; }

TEST(LiveWindowTiles, AreThoseThatHoldARowOfTheLastWMinusOnePositions) {
  EXPECT_EQ(LiveWindowTiles(512, 0), (TileRange{0, 0}));
  EXPECT_EQ(LiveWindowTiles(512, 1), (TileRange{0, 1}));
  EXPECT_EQ(LiveWindowTiles(512, 512), (TileRange{0, 4}));  // rows 1..511
  EXPECT_EQ(LiveWindowTiles(512, 638), (TileRange{0, 5}));  // rows 127..637
  EXPECT_EQ(LiveWindowTiles(512, 639), (TileRange{1, 5}));  // rows 128..638
  EXPECT_EQ(LiveWindowTiles(129, 256), (TileRange{1, 2}));  // rows 128..255
  EXPECT_EQ(LiveWindowTiles(130, 256), (TileRange{0, 2}));  // rows 127..255
  EXPECT_EQ(LiveWindowTiles(1, 1000), (TileRange{0, 0}));   // a query sees only itself
}

TEST(PlanChunk, ALongChunkReplacesTheWholeWindow) {
  // The picture in window_plan.h.
  const WindowPlan plan = PlanChunk(Window(200), 300, 900);
  EXPECT_EQ(plan.before, (TileRange{0, 3}));   // rows 101..299
  EXPECT_EQ(plan.after, (TileRange{5, 8}));    // rows 701..899
  EXPECT_EQ(plan.scratch, (TileRange{3, 8}));  // rows 384..899
  EXPECT_EQ(plan.leaving(), (TileRange{0, 3}));
  EXPECT_EQ(plan.staying(), (TileRange{0, 0}));
  EXPECT_EQ(plan.entering(), (TileRange{5, 8}));
}

TEST(PlanChunk, ADecodeStepInsideATileMovesNothing) {
  const WindowPlan plan = PlanChunk(Window(200), 300, 301);
  EXPECT_EQ(plan.staying(), (TileRange{0, 3}));  // rows 102..300
  EXPECT_EQ(plan.leaving().count(), 0U);
  EXPECT_EQ(plan.entering().count(), 0U);
  EXPECT_EQ(plan.scratch.count(), 0U);
}

TEST(PlanChunk, ADecodeStepOntoANewTileTakesItAndDropsTheOneThatLeaves) {
  const WindowPlan plan = PlanChunk(Window(130), 384, 385);  // before: rows 255..383
  EXPECT_EQ(plan.before, (TileRange{1, 3}));
  EXPECT_EQ(plan.after, (TileRange{2, 4}));  // rows 256..384
  EXPECT_EQ(plan.leaving(), (TileRange{1, 2}));
  EXPECT_EQ(plan.entering(), (TileRange{3, 4}));
  EXPECT_EQ(plan.scratch, (TileRange{3, 4}));
}

TEST(PlanChunk, AWindowOfOneKeepsNothing) {
  const WindowPlan plan = PlanChunk(Window(1), 300, 500);
  EXPECT_EQ(plan.before.count(), 0U);
  EXPECT_EQ(plan.after.count(), 0U);
  EXPECT_EQ(plan.scratch, (TileRange{2, 4}));
}

TEST(LiveOwedTiles, AreTheResidualAndTheTileThatIsBeingWritten) {
  EXPECT_EQ(LiveOwedTiles(0, 0), (TileRange{0, 0}));
  EXPECT_EQ(LiveOwedTiles(0, 1), (TileRange{0, 1}));
  EXPECT_EQ(LiveOwedTiles(0, 128), (TileRange{1, 1}));  // whole tiles are codes
  EXPECT_EQ(LiveOwedTiles(0, 300), (TileRange{2, 3}));
  EXPECT_EQ(LiveOwedTiles(1, 128), (TileRange{0, 1}));
  EXPECT_EQ(LiveOwedTiles(1, 300), (TileRange{1, 3}));
  EXPECT_EQ(LiveOwedTiles(5, 300), (TileRange{0, 3}));
}

TEST(PlanChunk, AChunkThatEndsOnATileLeavesNoOwedRowBehind) {
  const WindowPlan plan = PlanChunk(Owed(0), 100, 128);  // before: rows 0..99
  EXPECT_EQ(plan.before, (TileRange{0, 1}));
  EXPECT_EQ(plan.leaving(), (TileRange{0, 1}));
  EXPECT_EQ(plan.staying(), (TileRange{0, 0}));
  EXPECT_EQ(plan.entering(), (TileRange{0, 0}));
}

TEST(RecentRule, RowsBeforeTheOriginAreNotThere) {
  EXPECT_EQ(Window(512).Live(1000, 700), (TileRange{5, 8}));  // rows 700..999
  EXPECT_EQ(Window(512).Live(700, 700), (TileRange{0, 0}));
  EXPECT_EQ(Window(100).Live(1000, 700), (TileRange{7, 8}));  // rows 901..999
  EXPECT_EQ(Owed(1).Live(300, 256), (TileRange{2, 3}));
}

TEST(PlanChunk, AReplayBeginsWithoutAWindow) {
  const WindowPlan plan = PlanChunk(Window(200), 300, 500, 300);
  EXPECT_EQ(plan.before.count(), 0U);
  EXPECT_EQ(plan.after, (TileRange{2, 4}));    // rows 301..499
  EXPECT_EQ(plan.scratch, (TileRange{2, 4}));  // rows 300..499
  EXPECT_EQ(plan.entering(), (TileRange{2, 4}));
}

}  // namespace
}  // namespace weir
