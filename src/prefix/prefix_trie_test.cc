#include "prefix/prefix_trie.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/trie_fixture.h"

namespace weir {
namespace {

using test::Tokens;
using Trie = test::TrieTest;

// --- Matching -----------------------------------------------------------------------------------

TEST_F(Trie, FindsNothingInAnEmptyTrie) {
  Make({});
  const PrefixMatch match = Match("a200");
  EXPECT_TRUE(match.nodes.empty());
  EXPECT_EQ(match.full_length, 0U);
  EXPECT_EQ(match.safe_length, 0U);
  EXPECT_EQ(match.veto, ResumeVeto::kNone);
}

TEST_F(Trie, MatchesWholeTilesAndTheTailThatFollows) {
  Make({});
  const std::vector<NodeId> nodes = Insert("a128 b128 c40");
  const PrefixMatch match = Match("a128 b128 c40 d");
  EXPECT_EQ(match.nodes, nodes);
  EXPECT_EQ(match.last_count, 40U);
  EXPECT_EQ(match.full_length, 296U);
  EXPECT_EQ(match.safe_length, 296U);
  EXPECT_EQ(trie_->StartOf(nodes[2]), 256U);
  EXPECT_EQ(trie_->ParentOf(nodes[2]), nodes[1]);
}

TEST_F(Trie, LeavesTheLastTokenOfThePromptToBeComputed) {
  Make({});
  Insert("a128 b128 c40");
  EXPECT_EQ(FullLength("a128 b128 c40"), 295U);
  EXPECT_EQ(FullLength("a128 b128"), 255U);
  EXPECT_EQ(SafeLength("a128 b128"), 255U);
  EXPECT_EQ(FullLength("a128 b"), 128U);
  EXPECT_EQ(FullLength("a"), 0U);
  EXPECT_EQ(FullLength("a2"), 1U);
}

TEST_F(Trie, UsesTheRowsOfATileBeforeThePlaceWhereAPromptParts) {
  Make({});
  const std::vector<NodeId> nodes = Insert("a128 b100 c28 d128");
  const PrefixMatch match = Match("a128 b100 e400");
  EXPECT_EQ(match.nodes, (std::vector<NodeId>{nodes[0], nodes[1]}));
  EXPECT_EQ(match.last_count, 100U);
  EXPECT_EQ(match.full_length, 228U);
  EXPECT_EQ(match.safe_length, 228U);
  EXPECT_EQ(FullLength("b10"), 0U);
}

TEST_F(Trie, TakesTheChildThatGoesWithThePromptForLongest) {
  Make({});
  Insert("a128 b10");
  Insert("a128 b20 c5");
  Insert("a128 b20 c5 d90 e13 x");  // whole tile, continued
  Insert("a128 b20 d");
  EXPECT_EQ(FullLength("a128 b9 x9"), 137U);
  EXPECT_EQ(FullLength("a128 b15 x9"), 143U);
  EXPECT_EQ(FullLength("a128 b20 c4 x9"), 152U);
  EXPECT_EQ(FullLength("a128 b20 c5 d50 x"), 203U);
  EXPECT_EQ(FullLength("a128 b20 d9"), 149U);
  EXPECT_EQ(FullLength("a128 x"), 128U);
}

TEST_F(Trie, PrefersOfEquallyCloseChildrenOneThatCanBeResumed) {
  Make({});
  Insert("a128 b20 c", {1});
  const std::vector<NodeId> whole = Insert("a128 b20 d");
  Insert("a128 b20 e", {1});
  const PrefixMatch match = Match("a128 b20 f");
  EXPECT_EQ(match.nodes, whole);
  EXPECT_EQ(match.safe_length, 148U);
}

TEST_F(Trie, ATombstoneIsAVetoAndAWindowAfterItIsSafeAgain) {
  Make({.window = 200});  // the picture of ResumePosition's test
  Insert("a128 b128 c128 d128 e128 f128", {2});
  EXPECT_EQ(SafeLength("a128 b128 c128 d128 e70"), 256U);
  EXPECT_EQ(SafeLength("a128 b128 c128 d128 e72"), 583U);
  const PrefixMatch match = Match("a128 b128 c128 d128 e70 x");
  EXPECT_EQ(match.full_length, 582U);
  EXPECT_EQ(match.safe_length, 256U);
  EXPECT_EQ(match.veto, ResumeVeto::kWindow);
}

TEST_F(Trie, OwedRowsAreAVetoOfTheirOwn) {
  Make({.window = 200, .residual = 1});
  NodeTiles tiles = kv_->Allocate();
  tiles.owed = TileRef();
  InsertTile(root_.node(), Tokens("a100"), tiles);
  const PrefixMatch match = Match("a100 b");
  EXPECT_EQ(match.safe_length, 0U);
  EXPECT_EQ(match.veto, ResumeVeto::kOwedRows);
}

TEST_F(Trie, NamespacesDoNotSeeEachOther) {
  Make({});
  Insert("a128 b40");
  const PrefixPin other = trie_->Root("other");
  EXPECT_NE(other.node(), root_.node());
  EXPECT_EQ(trie_->Root("").node(), root_.node());
  PrefixMatch match;
  trie_->Match(other.node(), Tokens("a128 b40"), match);
  EXPECT_EQ(match.full_length, 0U);
}

TEST_F(Trie, ACollisionIsDetectedAndIsAMiss) {
  Make({}, 0);  // every hash is equal
  const std::vector<NodeId> first = Insert("a128 b128 c3");
  const std::vector<NodeId> second = Insert("b128 a128 c3");
  EXPECT_EQ(FullLength("a128 b128 c9"), 259U);
  EXPECT_EQ(FullLength("b128 a128 c9"), 259U);
  EXPECT_EQ(FullLength("c128 a128"), 0U);
  EXPECT_EQ(FullLength("a128 a128"), 128U);
  EXPECT_GT(trie_->stats().collisions, 0U);
  EXPECT_TRUE(MakeRoom({.full = 40}));
  EXPECT_EQ(trie_->stats().nodes, 0U);
}

TEST_F(Trie, WithoutForcingThereIsNoCollision) {
  Make({});
  Insert("a128 b128 c3");
  Match("a128 b128 c9");
  EXPECT_EQ(trie_->stats().collisions, 0U);
}

// --- Sharing ------------------------------------------------------------------------------------

TEST_F(Trie, SharesAllFullTilesAndTheWindowAndOwedTilesThatAPositionNeeds) {
  Make({.window = 130, .residual = 1});
  Insert("a128 b128 c128 d128");
  const PrefixMatch match = Match("a128 b128 c128 d128 e");
  const PrefixTiles shared = trie_->Share(match, 385);  // window rows 256..384, owed tiles 2 and 3
  ASSERT_EQ(shared.tiles.size(), 4U);
  EXPECT_EQ(shared.position, 385U);
  const std::string expected_window = "..##";
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(shared.tiles[i].full);
    EXPECT_EQ(full()->reference_count(shared.tiles[i].full.id()), 2U);
    EXPECT_EQ(static_cast<bool>(shared.tiles[i].window), expected_window[i] == '#') << i;
    EXPECT_EQ(static_cast<bool>(shared.tiles[i].owed), i >= 2) << i;
  }
  EXPECT_TRUE(trie_->Share(match, 0).tiles.empty());
}

// --- Inserting ----------------------------------------------------------------------------------

TEST_F(Trie, InsertingWhatIsThereFreesTheNewcomerAndRepointsIt) {
  Make({.residual = 0});
  NodeTiles first = kv_->Allocate();
  const NodeId node = InsertTile(root_.node(), Tokens("a128"), first);
  NodeTiles second = kv_->Allocate();
  EXPECT_EQ(InsertTile(root_.node(), Tokens("a128"), second), node);
  EXPECT_EQ(second.full.id(), first.full.id());
  EXPECT_EQ(second.window.id(), first.window.id());
  EXPECT_EQ(second.owed.id(), first.owed.id());
  EXPECT_EQ(full()->used_count(), 1U);
  EXPECT_EQ(window()->used_count(), 1U);
  EXPECT_EQ(trie_->stats().inserted, 1U);
  EXPECT_EQ(trie_->stats().duplicates_freed, 3U);
  EXPECT_EQ(trie_->stats().tombstones_healed, 0U);
}

TEST_F(Trie, InsertingHealsATombstone) {
  Make({});
  const std::vector<NodeId> nodes = Insert("a128 b40", {0, 1});
  EXPECT_EQ(trie_->stats().tombstones, 2U);
  EXPECT_EQ(SafeLength("a128 b40 c"), 0U);
  EXPECT_EQ(Insert("a128 b40"), nodes);
  EXPECT_EQ(trie_->stats().tombstones, 0U);
  EXPECT_EQ(trie_->stats().tombstones_healed, 2U);
  EXPECT_EQ(SafeLength("a128 b40 c"), 168U);
}

TEST_F(Trie, ALongerTailTakesThePlaceAndTheResumePointsOfAShorter) {
  Make({});
  NodeTiles tiles = kv_->Allocate();  // a sequence whose tile grows in place
  const NodeId shorter = InsertTile(root_.node(), Tokens("a10"), tiles);
  ASSERT_TRUE(trie_->AddResumePoint(shorter, 10, ResumeClass::kNewest));
  const NodeId longer = InsertTile(root_.node(), Tokens("a20"), tiles);
  EXPECT_EQ(trie_->stats().nodes, 1U);
  EXPECT_EQ(trie_->stats().tails, 1U);
  EXPECT_EQ(trie_->stats().resume_points, 1U);
  EXPECT_EQ(full()->reference_count(tiles.full.id()), 2U);  // the sequence and one node
  trie_->Supersede(longer, 10);
  EXPECT_EQ(trie_->stats().resume_points_by_class[1], 1U);
  const NodeId whole = InsertTile(root_.node(), Tokens("a128"), tiles);
  EXPECT_EQ(trie_->Nodes(), std::vector<NodeId>{whole});
  EXPECT_EQ(trie_->stats().tails, 0U);
}

TEST_F(Trie, AShorterTailStaysWhileItIsPinnedAndGoesAfterwards) {
  Make({});
  NodeTiles tiles = kv_->Allocate();
  PrefixPin pin = trie_->Pin(InsertTile(root_.node(), Tokens("a10"), tiles));
  ASSERT_TRUE(trie_->AddResumePoint(pin.node(), 10, ResumeClass::kNewest));
  const NodeId longer = InsertTile(root_.node(), Tokens("a20 b"), tiles);
  EXPECT_EQ(trie_->stats().nodes, 2U);
  pin = PrefixPin();
  trie_->CheckInvariants();
  EXPECT_EQ(trie_->Nodes(), std::vector<NodeId>{longer});
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

TEST_F(Trie, AShorterTailStaysWhenItAloneCanBeResumed) {
  Make({});
  Insert("a10");
  Insert("a20", {0});
  EXPECT_EQ(trie_->stats().nodes, 2U);
  EXPECT_EQ(SafeLength("a10 b"), 10U);
  Insert("a20");  // heals
  EXPECT_EQ(trie_->stats().nodes, 1U);
  EXPECT_EQ(SafeLength("a10 b"), 10U);
}

TEST_F(Trie, RemovesEveryTailThatANewNodeContinuesAndNoOther) {
  Make({});
  Insert("a10");
  Insert("a5 b");
  Insert("a20 c");
  Insert("a20 b");
  Insert("a20 c d");  // not a10: a20 c went before
  EXPECT_EQ(trie_->stats().nodes, 3U);
  EXPECT_EQ(FullLength("a5 b9"), 6U);
  EXPECT_EQ(FullLength("a20 b9"), 21U);
  EXPECT_EQ(FullLength("a20 c d9"), 22U);
}

TEST_F(Trie, AShorterTailOfWhatIsThereIsAPlaceInTheLongerNode) {
  Make({});
  const NodeId longer = Insert("a20 b")[0];
  NodeTiles tiles = kv_->Allocate();
  EXPECT_EQ(InsertTile(root_.node(), Tokens("a10"), tiles), longer);
  EXPECT_TRUE(tiles.full.is_exclusive());  // not shared with the trie
  EXPECT_EQ(trie_->stats().inserted, 1U);
  EXPECT_TRUE(trie_->AddResumePoint(longer, 10, ResumeClass::kNewest));
}

TEST_F(Trie, AShorterTailIsAddedWhenTheLongerNodeLostItsWindow) {
  Make({});
  const NodeId longer = Insert("a20 b", {0})[0];
  const NodeId shorter = Insert("a10")[0];
  EXPECT_NE(shorter, longer);
  EXPECT_EQ(SafeLength("a10 c"), 10U);
  EXPECT_EQ(FullLength("a20 b9"), 21U);
}

TEST_F(Trie, ConversationsAreItsLeavesWarmestFirst) {
  Make({});
  const NodeId first = Insert("a128 b128 c40").back();
  Insert("a128 x9");
  EXPECT_EQ(trie_->LeafEnds(10), (std::vector<uint32_t>{137, 296}));
  trie_->Stamp(first);
  EXPECT_EQ(trie_->LeafEnds(1), std::vector<uint32_t>{296});
}

// --- Shapes -------------------------------------------------------------------------------------

TEST_F(Trie, WithoutAWindowGroupEverythingIsSafe) {
  Make({.window = 0});
  const NodeId node = Insert("a128 b20").back();
  EXPECT_EQ(SafeLength("a128 b20 c"), 148U);
  EXPECT_TRUE(trie_->AddResumePoint(node, 20, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().tombstones, 0U);
  EXPECT_TRUE(MakeRoom({.full = 40, .window = 99}));
}

TEST_F(Trie, WithoutAFullGroupALeafGoesWithItsWindow) {
  Make({.full_tiles = 0, .window_tiles = 4, .window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128", {0});
  EXPECT_EQ(SafeLength("a128 b128 x"), 256U);
  EXPECT_EQ(SafeLength("a128 x"), 0U);
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));
  EXPECT_TRUE(MakeRoom({.window = 3}));  // b's
  EXPECT_EQ(trie_->stats().nodes, 3U);
  EXPECT_TRUE(MakeRoom({.window = 4}));  // c's: then nothing of the path is worth anything
  EXPECT_EQ(trie_->stats().nodes, 0U);
}

TEST_F(Trie, WithoutAFullGroupAPinnedLeafStaysUntilItIsUnpinned) {
  Make({.full_tiles = 0, .window_tiles = 4});
  PrefixPin pin = trie_->Pin(Insert("a128 b128").back());
  EXPECT_TRUE(MakeRoom({.window = 4}));
  EXPECT_EQ(trie_->stats().nodes, 2U);
  pin = PrefixPin();
  EXPECT_EQ(trie_->stats().nodes, 0U);
}

// --- Flush --------------------------------------------------------------------------------------

TEST_F(Trie, FlushForgetsEverything) {
  Make({});
  const NodeId node = Insert("a128 b128 c20").back();
  ASSERT_TRUE(trie_->AddResumePoint(node, 20, ResumeClass::kNewest));
  EXPECT_EQ(trie_->Flush(), 3U);
  trie_->CheckInvariants();
  EXPECT_EQ(full()->used_count(), 0U);
  EXPECT_EQ(window()->used_count(), 0U);
  EXPECT_EQ(trie_->stats().resume_points, 0U);
  root_ = trie_->Root("");
  EXPECT_EQ(FullLength("a128 b128"), 0U);
  Insert("a128 b128 c20");
  EXPECT_EQ(FullLength("a128 b128"), 255U);
}

TEST_F(Trie, WhatWasPinnedWhenFlushedIsFreedWithThePinAndCanNeitherBeMatchedNorContinued) {
  Make({});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  Insert("a128 x128");
  PrefixPin pin = trie_->Pin(nodes[1]);
  EXPECT_EQ(trie_->Flush(), 4U);
  trie_->CheckInvariants();
  EXPECT_EQ(full()->used_count(), 2U);  // a and b
  EXPECT_EQ(FullLength("a128 b128"), 0U);
  NodeTiles tiles = kv_->Allocate();
  EXPECT_EQ(trie_->Insert(nodes[1], Tokens("c128"), tiles), NodeId());
  EXPECT_TRUE(tiles.full.is_exclusive());
  EXPECT_EQ(trie_->Insert(root_.node(), Tokens("c128"), tiles), NodeId());
  EXPECT_FALSE(trie_->AddResumePoint(nodes[1], 128, ResumeClass::kNewest));
  trie_->Stamp(nodes[1]);
  trie_->StampResume(nodes[1], 128);
  trie_->Supersede(nodes[1], 128);
  EXPECT_FALSE(MakeRoom({.full = 40}));
  pin = PrefixPin();
  tiles = NodeTiles();
  EXPECT_EQ(full()->used_count(), 0U);
}

TEST_F(Trie, ARootLivesAsLongAsItHasChildrenOrPins) {
  Make({});
  root_ = PrefixPin();
  root_ = trie_->Root("");
  const NodeId root = root_.node();
  Insert("a20");
  root_ = PrefixPin();
  trie_->CheckInvariants();
  root_ = trie_->Root("");
  EXPECT_EQ(root_.node(), root);
  EXPECT_EQ(FullLength("a20 b"), 20U);
}

}  // namespace
}  // namespace weir
