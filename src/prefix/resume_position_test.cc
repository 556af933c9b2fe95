#include "prefix/resume_position.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/seed.h"

namespace weir {
namespace {

// '#': window tile (or owed tile) present, '.': gone.
std::vector<PathTile> Windows(std::string_view tiles) {
  std::vector<PathTile> path;
  for (const char tile : tiles) path.push_back({.has_window = tile == '#', .has_owed = false});
  return path;
}

TEST(ResumePosition, IsTheLimitOnAPathWithoutTombstonesHoweverShort) {
  for (const uint32_t limit : {1U, 40U, 127U, 128U, 129U, 300U}) {
    EXPECT_EQ(ResumePosition(Windows("###"), limit, {.window = 512}), limit);
    EXPECT_EQ(VetoAt(Windows("###"), limit, {.window = 512}), ResumeVeto::kNone);
  }
}

TEST(ResumePosition, IsZeroWithoutTokens) {
  EXPECT_EQ(ResumePosition({}, 0, {.window = 512}), 0U);
  EXPECT_EQ(VetoAt({}, 0, {.window = 512, .owes_rows = true}), ResumeVeto::kNone);
}

TEST(ResumePosition, ATombstoneCostsWhatFollowsUntilAWindowIsWholeAgain) {
  // W = 200; tile      0 1 2 3 4 5
  //                    # # . # # #     decoding from p reads rows p-199 .. p-1
  const std::vector<PathTile> path = Windows("##.###");
  const ResumeNeeds needs{.window = 200};
  EXPECT_EQ(ResumePosition(path, 300, needs), 256U);  // row 101..299 lies in tiles 0, 1, 2
  EXPECT_EQ(ResumePosition(path, 512, needs), 256U);  // rows 313.. begin in tile 2
  EXPECT_EQ(ResumePosition(path, 582, needs), 256U);  // rows 383..: the last row of tile 2
  EXPECT_EQ(ResumePosition(path, 583, needs), 583U);  // rows 384..
  EXPECT_EQ(ResumePosition(path, 640, needs), 640U);
  EXPECT_EQ(VetoAt(path, 582, needs), ResumeVeto::kWindow);
}

TEST(ResumePosition, FallsBackByWholeTilesBehindALostLastTile) {
  EXPECT_EQ(ResumePosition(Windows("####."), 600, {.window = 129}), 512U);
  EXPECT_EQ(ResumePosition(Windows("###.."), 600, {.window = 129}), 384U);
  EXPECT_EQ(ResumePosition(Windows("....."), 600, {.window = 129}), 0U);
}

TEST(ResumePosition, WithAWindowOfOneOrNoneNeedsNoWindowTile) {
  EXPECT_EQ(ResumePosition(Windows("..."), 300, {.window = 1}), 300U);
  EXPECT_EQ(ResumePosition(Windows("..."), 300, {.window = 0}), 300U);
}

TEST(OwedTiles, AreTheOpenTileAndTheResidualBeforeIt) {
  const auto expect = [](uint32_t residual, uint32_t position, uint32_t first, uint32_t end) {
    const TileRange range = LiveOwedTiles(residual, position);
    EXPECT_EQ(range.first, first) << "r " << residual << ", position " << position;
    EXPECT_EQ(range.end, end) << "r " << residual << ", position " << position;
  };
  expect(0, 0, 0, 0);
  expect(0, 127, 0, 1);
  expect(0, 128, 1, 1);  // every tile is coded
  expect(0, 129, 1, 2);
  expect(1, 127, 0, 1);
  expect(1, 128, 0, 1);
  expect(1, 256, 1, 2);
  expect(1, 300, 1, 3);
  expect(3, 300, 0, 3);
}

TEST(ResumePosition, WithoutOwedRowsAndResidualFallsBackToTheBeginOfTheTile) {
  const std::vector<PathTile> path(3);  // nothing owed is there
  EXPECT_EQ(ResumePosition(path, 300, {.owes_rows = true, .residual = 0}), 256U);
  EXPECT_EQ(VetoAt(path, 300, {.owes_rows = true, .residual = 0}), ResumeVeto::kOwedRows);
  EXPECT_EQ(ResumePosition(path, 300, {.owes_rows = true, .residual = 1}), 0U);
}

bool IsSafe(const std::vector<PathTile>& path, uint32_t position, const ResumeNeeds& needs) {
  for (uint32_t row = 0; row < position; ++row) {
    const bool in_window = needs.window > 0 && row + needs.window > position;
    if (in_window && !path[row / 128].has_window) return false;
    const bool is_owed = needs.owes_rows && row / 128 + needs.residual >= position / 128;
    if (is_owed && !path[row / 128].has_owed) return false;
  }
  return true;
}

TEST(ResumePosition, IsTheLongestThatARowByRowTwinFinds) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 3000; ++round) {
    std::vector<PathTile> path(random() % 9);
    const uint64_t density = 1 + random() % 8;
    for (PathTile& tile : path) {
      tile = {.has_window = random() % density > 0, .has_owed = random() % density > 0};
    }
    const auto limit = static_cast<uint32_t>(random() % (128 * path.size() + 1));
    const ResumeNeeds needs{.window = static_cast<uint32_t>(random() % 520),
                            .owes_rows = random() % 2 == 0,
                            .residual = static_cast<uint32_t>(random() % 3)};
    uint32_t expected = limit;
    while (!IsSafe(path, expected, needs)) --expected;
    ASSERT_EQ(ResumePosition(path, limit, needs), expected)
        << "limit " << limit << ", W " << needs.window << ", r " << needs.residual;
    ASSERT_EQ(VetoAt(path, limit, needs) == ResumeVeto::kNone, expected == limit);
  }
}

}  // namespace
}  // namespace weir
