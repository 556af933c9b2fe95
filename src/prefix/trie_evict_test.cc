// What leaves the trie, in which order, and what stays.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "prefix/prefix_trie.h"
#include "support/trie_fixture.h"

namespace weir {
namespace {

using test::Tokens;
using TrieEviction = test::TrieTest;

// --- Heat and full tiles ------------------------------------------------------------------------

TEST_F(TrieEviction, FullTilesGoLeafFirstFromTheColdestConversation) {
  Make({.full_tiles = 6});
  Insert("a128 b128 c40");
  Insert("x128 y128 z40");
  EXPECT_EQ(full()->free_count(), 0U);
  EXPECT_TRUE(MakeRoom({.full = 2}));  // c40, b128
  EXPECT_EQ(full()->free_count(), 2U);
  EXPECT_EQ(FullLength("a128 b128 c40"), 128U);
  EXPECT_EQ(FullLength("x128 y128 z40 x"), 296U);
  EXPECT_EQ(trie_->stats().evicted_nodes, 2U);
}

TEST_F(TrieEviction, AStampedConversationOutlivesANewerOne) {
  Make({.full_tiles = 6});
  const std::vector<NodeId> old = Insert("a128 b128 c40");
  Insert("x128 y128 z40");
  trie_->Stamp(old.back());
  EXPECT_TRUE(MakeRoom({.full = 3}));
  EXPECT_EQ(FullLength("a128 b128 c40 x"), 296U);
  EXPECT_EQ(FullLength("x128"), 0U);
}

TEST_F(TrieEviction, ASharedBeginningStaysAsLongAsAnyBranchDoes) {
  Make({.full_tiles = 6});
  Insert("s128 a128");
  Insert("s128 b128 c9");
  EXPECT_TRUE(MakeRoom({.full = 5}));  // 6 - 4: three of the four go, the deepest first
  EXPECT_EQ(FullLength("s128 b128"), 128U);
  EXPECT_EQ(FullLength("s128 a128"), 128U);
}

TEST_F(TrieEviction, PinnedPathsAreNeverEvicted) {
  Make({.full_tiles = 6});
  const std::vector<NodeId> nodes = Insert("a128 b128 c40");
  Insert("x128 y128 z40");
  const PrefixPin pin = trie_->Pin(nodes[1]);
  EXPECT_FALSE(MakeRoom({.full = 5}));
  EXPECT_EQ(full()->free_count(), 4U);  // what could be freed is free
  EXPECT_EQ(FullLength("a128 b128 c40"), 256U);
}

TEST_F(TrieEviction, NodesWhoseTilesARunningSequenceUsesStayForTheyWouldFreeNothing) {
  Make({.full_tiles = 4});
  NodeTiles mine = kv_->Allocate();
  InsertTile(root_.node(), Tokens("m100"), mine);
  Insert("a128 b9");
  EXPECT_TRUE(MakeRoom({.full = 3}));
  EXPECT_EQ(FullLength("m100 x"), 100U);
  EXPECT_EQ(FullLength("a128"), 0U);
}

TEST_F(TrieEviction, ATileOfTwoNodesIsFreeWhenBothWent) {
  Make({.full_tiles = 2, .window_tiles = 2});
  {
    NodeTiles tiles = kv_->Allocate();
    pins_.push_back(trie_->Pin(InsertTile(root_.node(), Tokens("a10"), tiles)));
    InsertTile(root_.node(), Tokens("a20"), tiles);
    pins_.push_back(trie_->Pin(InsertTile(root_.node(), Tokens("a30"), tiles)));
  }
  EXPECT_EQ(trie_->stats().nodes, 2U);  // a20 is continued by a30
  EXPECT_EQ(full()->used_count(), 1U);
  EXPECT_EQ(window()->used_count(), 1U);
  EXPECT_TRUE(MakeRoom({.window = 2}));  // gone from both at once
  EXPECT_EQ(trie_->stats().tombstones, 2U);
  pins_.clear();
  EXPECT_TRUE(MakeRoom({.full = 2}));
  EXPECT_EQ(trie_->stats().nodes, 0U);
}

TEST_F(TrieEviction, LosesNoMoreThanIsAskedForHoweverLittleRoomThereIs) {
  Make({.full_tiles = 40, .window_tiles = 40});
  for (const char* text : {"a128 b128 c128 d128", "e128 f128 g128 h128", "i128 j128 k128 l128"}) {
    trie_->AddResumePoint(Insert(text).back(), 128, ResumeClass::kNewest);
  }
  EXPECT_TRUE(MakeRoom({.full = 28, .window = 28}));
  EXPECT_EQ(trie_->stats().nodes, 12U);  // 28 were free
  for (uint32_t need = 29; need <= 40; ++need) {
    EXPECT_TRUE(MakeRoom({.full = need, .window = need}));
    EXPECT_EQ(full()->free_count(), need);
    EXPECT_EQ(trie_->stats().nodes, 40U - need);
  }
}

TEST_F(TrieEviction, LeavesWhereNobodyCouldResumeGoFirst) {
  Make({.full_tiles = 6, .window_tiles = 6, .window = 129});
  Insert("a128 b128");
  const std::vector<NodeId> warmer = Insert("x128 y128 z128", {2});
  trie_->DropSidecars(warmer[1]);
  (void)trie_->Pin(warmer[2]);
  EXPECT_TRUE(MakeRoom({.full = 3}));  // z, which has no window, then y
  EXPECT_EQ(FullLength("x128 y128"), 128U);
  EXPECT_EQ(FullLength("a128 b128 c"), 256U);
  EXPECT_TRUE(MakeRoom({.full = 4}));  // x can be resumed, and was used after b
  EXPECT_EQ(FullLength("x128 y"), 128U);
  EXPECT_EQ(FullLength("a128 b128 c"), 128U);
}

TEST_F(TrieEviction, ALeafWhoseWindowComesBackIsNoLongerTheFirstToGo) {
  Make({.full_tiles = 4, .window_tiles = 4, .window = 129});
  Insert("a128");
  const NodeId bare = Insert("x128", {0})[0];
  ASSERT_FALSE(trie_->HasWindow(bare));
  (void)trie_->Pin(bare);
  Insert("x128");
  ASSERT_TRUE(trie_->HasWindow(bare));
  EXPECT_TRUE(MakeRoom({.full = 3}));
  EXPECT_EQ(FullLength("x128 y"), 128U);
  EXPECT_EQ(FullLength("a128 b"), 0U);
}

TEST_F(TrieEviction, ALeafBelowALostWindowGoesFirstAlsoWhenItsRequestEnds) {
  Make({.full_tiles = 5, .window_tiles = 5, .window = 257});
  Insert("a128");
  const std::vector<NodeId> nodes = Insert("x128 y128 z20");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 20, ResumeClass::kNewest));
  trie_->DropSidecars(nodes[0]);  // its last tokens are needed at z's end
  trie_->Restamp(nodes[2]);
  EXPECT_TRUE(MakeRoom({.full = 2}));
  EXPECT_EQ(FullLength("x128 y128 z20"), 256U);
  EXPECT_EQ(FullLength("a128 b"), 128U);
}

TEST_F(TrieEviction, LeavesThatAReplayCanResumeKeepTheirPlace) {
  Make({.full_tiles = 6, .window_tiles = 6, .window = 129}, ~uint64_t{0}, 256);
  Insert("a128 b128");
  (void)trie_->Pin(Insert("x128 y128 z128", {1, 2})[2]);
  EXPECT_TRUE(MakeRoom({.full = 2}));  // b: z ends at 384
  EXPECT_EQ(FullLength("x128 y128 z128 x"), 384U);
  EXPECT_EQ(FullLength("a128 b128"), 128U);
}

TEST_F(TrieEviction, ForTheSakeOfAPointNothingWorthAsMuchGoes) {
  Make({.full_tiles = 4, .window_tiles = 4, .window = 129});
  const NodeId node = Insert("a128 b128")[1];
  ASSERT_TRUE(trie_->AddResumePoint(node, 128, ResumeClass::kNewest));
  const double periodic = trie_->WorthOf(ResumeClass::kPeriodic, 256);
  const double newest = trie_->WorthOf(ResumeClass::kNewest, 256);
  EXPECT_LT(periodic, newest);
  EXPECT_TRUE(trie_->MakeRoomFor(0, {.window = 3}));  // a is interior
  EXPECT_FALSE(trie_->MakeRoomFor(periodic, {.window = 4}));
  EXPECT_FALSE(trie_->MakeRoomFor(periodic, {.full = 3}));  // b's point would go with it
  EXPECT_TRUE(trie_->HasWindow(node));
  EXPECT_TRUE(trie_->MakeRoomFor(2 * newest, {.window = 4}));
  EXPECT_TRUE(trie_->MakeRoomFor(0, {.full = 3}));
}

TEST_F(TrieEviction, ATileIsGivenUpUnlessItsPointIsWorthTheNextToGo) {
  Make({.window_tiles = 3, .window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[0], 128, ResumeClass::kPeriodic));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));
  const auto drop = [&](const char* text, uint32_t position, double worth = PrefixTrie::kAnyWorth) {
    trie_->DropUnlessWorth(trie_->Share(Match(text), position).tiles.back(), worth);
    trie_->CheckInvariants();
  };
  drop("a128 b128 c128 x", 384);  // a would go before it
  EXPECT_TRUE(trie_->HasWindow(nodes[2]));
  drop("a128 b128 x", 256);  // no point needs it
  EXPECT_FALSE(trie_->HasWindow(nodes[1]));
  drop("a128 x", 128, trie_->WorthOf(ResumeClass::kPeriodic, 128));  // that is what it is worth
  EXPECT_TRUE(trie_->HasWindow(nodes[0]));
  drop("a128 x", 128);  // in use, as all are that might be evicted: c is the next to go
  EXPECT_FALSE(trie_->HasWindow(nodes[0]));
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

// --- Windows ------------------------------------------------------------------------------------

TEST_F(TrieEviction, WindowTilesThatNoResumePointNeedsGoFirst) {
  Make({.window_tiles = 5, .window = 129});  // a whole tile before the position
  const std::vector<NodeId> nodes = Insert("a128 b128 c128 d128 e128");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 128, ResumeClass::kPeriodic));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[4], 128, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().interior_windows, 3U);  // a, c and d
  EXPECT_TRUE(MakeRoom({.window = 3}));
  EXPECT_TRUE(trie_->HasWindow(nodes[1]));
  EXPECT_TRUE(trie_->HasWindow(nodes[4]));
  EXPECT_EQ(trie_->stats().resume_points, 2U);
  EXPECT_TRUE(MakeRoom({.window = 4}));  // now the periodic point
  EXPECT_FALSE(trie_->HasWindow(nodes[1]));
  EXPECT_TRUE(trie_->HasWindow(nodes[4]));
  EXPECT_EQ(trie_->stats().resume_points, 1U);
  EXPECT_EQ(trie_->stats().nodes, 5U);  // full tiles stay: tombstones
  EXPECT_EQ(trie_->stats().evicted_windows, 4U);
}

TEST_F(TrieEviction, AnIdleConversationKeepsItsNewestPointWhenOthersAreSuperseded) {
  // Known from other servers: an idle session loses its tail's window first, and with it
  // everything.
  Make({.window_tiles = 3, .window = 129});
  const std::vector<NodeId> idle = Insert("i128");
  ASSERT_TRUE(trie_->AddResumePoint(idle[0], 128, ResumeClass::kNewest));
  const std::vector<NodeId> busy = Insert("a128 b128");
  ASSERT_TRUE(trie_->AddResumePoint(busy[0], 128, ResumeClass::kNewest));
  trie_->Supersede(busy[0], 128);
  ASSERT_TRUE(trie_->AddResumePoint(busy[1], 128, ResumeClass::kNewest));
  EXPECT_TRUE(MakeRoom({.window = 1}));
  EXPECT_EQ(SafeLength("i128 x"), 128U);
  EXPECT_EQ(SafeLength("a128 x"), 0U);
  EXPECT_EQ(SafeLength("a128 b128 x"), 256U);
}

TEST_F(TrieEviction, ResumingRefreshesOnlyTheLastWindow) {
  // A match must not keep the windows of ancestors that nobody reads.
  Make({.window_tiles = 4, .window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  const NodeId other = Insert("x128")[0];
  trie_->Stamp(nodes[2]);
  trie_->StampResume(nodes[2], 128);  // reads c alone
  EXPECT_TRUE(MakeRoom({.window = 2}));
  EXPECT_TRUE(trie_->HasWindow(other));
  EXPECT_TRUE(MakeRoom({.window = 3}));
  EXPECT_TRUE(trie_->HasWindow(nodes[2]));
}

TEST_F(TrieEviction, RefusesAResumePointWhoseWindowIsNotWhole) {
  Make({.window = 200});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128", {1});
  EXPECT_FALSE(trie_->AddResumePoint(nodes[1], 50, ResumeClass::kNewest));
  EXPECT_FALSE(trie_->AddResumePoint(nodes[2], 71, ResumeClass::kNewest));   // rows 128..326
  EXPECT_FALSE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));  // rows 185..383
  EXPECT_TRUE(trie_->AddResumePoint(nodes[0], 50, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

TEST_F(TrieEviction, AResumePointThatIsThereKeepsTheLaterClass) {
  Make({});
  const NodeId node = Insert("a128")[0];
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kBranch));
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kPeriodic));
  EXPECT_EQ(trie_->stats().resume_points_by_class[2], 1U);
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().resume_points_by_class[3], 1U);
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

TEST_F(TrieEviction, AConversationThatGoesOnSupersedesTheNewestPointsOnItsPathUpToThere) {
  Make({.window_tiles = 40, .window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128");
  const NodeId other = Insert("a128 x128")[1];
  ASSERT_TRUE(trie_->AddResumePoint(nodes[0], 50, ResumeClass::kNewest));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[0], 60, ResumeClass::kBranch));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 20, ResumeClass::kNewest));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 30, ResumeClass::kNewest));
  ASSERT_TRUE(trie_->AddResumePoint(other, 7, ResumeClass::kNewest));
  trie_->Supersede(nodes[1], 20);
  EXPECT_EQ(trie_->stats().resume_points_by_class, (std::array<uint64_t, 4>{0, 2, 1, 2}));
}

TEST_F(TrieEviction, DroppingAWindowDropsThePointsThatNeedItAndNoOther) {
  Make({.window_tiles = 5, .window = 129, .residual = 0, .owed_tiles = 5});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 128, ResumeClass::kNewest));  // needs b
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 5, ResumeClass::kNewest));    // needs b and c
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));  // needs c
  trie_->DropSidecars(nodes[1]);
  trie_->CheckInvariants();
  EXPECT_FALSE(trie_->HasWindow(nodes[1]));
  EXPECT_FALSE(trie_->HasOwed(nodes[1]));
  EXPECT_TRUE(trie_->HasWindow(nodes[2]));
  EXPECT_EQ(trie_->stats().resume_points, 1U);
  EXPECT_EQ(window()->free_count(), 3U);
  trie_->DropSidecars(nodes[1]);  // nothing left to drop
  EXPECT_EQ(trie_->stats().nodes, 3U);
}

TEST_F(TrieEviction, AWindowTileOfALiveSequenceIsPassedOverForOneThatFreesSomething) {
  Make({.window_tiles = 3, .window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[0], 128, ResumeClass::kPeriodic));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));
  PrefixTiles view = trie_->Share(Match("a128 b"), 128);  // uses the window tile of a
  EXPECT_TRUE(MakeRoom({.window = 2}));                   // b, then c
  EXPECT_TRUE(trie_->HasWindow(nodes[0]));
  EXPECT_FALSE(trie_->HasWindow(nodes[2]));
  EXPECT_FALSE(MakeRoom({.window = 3}));
  EXPECT_TRUE(trie_->HasWindow(nodes[0]));
}

TEST_F(TrieEviction, WhenOnlyPartOfAWindowMustGoAnEarlierPositionStaysSafe) {
  Make({.window_tiles = 5, .window = 400});
  const NodeId node = Insert("a128 b128 c128 d128 e8").back();
  ASSERT_TRUE(trie_->AddResumePoint(node, 8, ResumeClass::kNewest));  // rows 121..519: all tiles
  EXPECT_TRUE(MakeRoom({.window = 1}));
  EXPECT_EQ(SafeLength("a128 b128 c128 d128 e8 x"), 512U);  // rows 113..511
}

TEST_F(TrieEviction, EachPoolIsEvictedByItsOwnShortfall) {
  // Known from other servers: only the full pool's shortfall was passed on.
  Make({.full_tiles = 8, .window_tiles = 4, .residual = 0, .owed_tiles = 4});
  Insert("a128 b128 c128 d128");
  EXPECT_EQ(window()->free_count(), 0U);
  EXPECT_TRUE(MakeRoom({.full = 4, .window = 2, .owed = 0}));
  EXPECT_EQ(trie_->stats().nodes, 4U);
  EXPECT_EQ(window()->free_count(), 2U);
  EXPECT_EQ(owed()->free_count(), 0U);
  EXPECT_TRUE(MakeRoom({.full = 4, .window = 2, .owed = 3}));
  EXPECT_EQ(window()->free_count(), 2U);
  EXPECT_EQ(owed()->free_count(), 3U);
  EXPECT_TRUE(MakeRoom({.full = 5, .window = 2, .owed = 3}));
  EXPECT_EQ(trie_->stats().nodes, 3U);
}

TEST_F(TrieEviction, AWindowGoesFromAPinnedNodeAndComesBack) {
  // Known from other servers: locks that depend on what a node has at the moment get out of step.
  Make({.window_tiles = 1});
  const NodeId node = Insert("a128")[0];
  PrefixPin pin = trie_->Pin(node);
  EXPECT_TRUE(MakeRoom({.window = 1}));
  EXPECT_FALSE(trie_->HasWindow(node));
  PrefixPin second = trie_->Pin(node);
  Insert("a128");
  EXPECT_TRUE(trie_->HasWindow(node));
  EXPECT_EQ(trie_->stats().pinned, 3U);  // with the root's
  pin = PrefixPin();
  EXPECT_FALSE(MakeRoom({.full = 40}));
  second = PrefixPin();
  EXPECT_TRUE(MakeRoom({.full = 40}));
}

// --- What was evicted ---------------------------------------------------------------------------

TEST_F(TrieEviction, AMissIsThatOfTheLastPointOnTheWay) {
  Make({.window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128");
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 20, ResumeClass::kNewest));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[1], 90, ResumeClass::kBranch));
  ASSERT_TRUE(trie_->AddResumePoint(nodes[2], 5, ResumeClass::kNewest));
  EXPECT_TRUE(MakeRoom({.full = 40}));  // nothing is left
  const auto miss = [&](const char* prompt, uint32_t position = 0) {
    return trie_->NoteMiss(Match(prompt), Tokens(prompt), position);
  };
  EXPECT_EQ(miss("a128 b128 c6"), ResumeClass::kNewest);  // at 261
  EXPECT_EQ(miss("a128 b128 c5"), ResumeClass::kBranch);  // the last token counts for nothing: 218
  EXPECT_EQ(miss("a128 b70 x"), ResumeClass::kNewest);    // 148
  EXPECT_EQ(miss("a128 b20 x"), ResumeClass::kNewest);    // just there
  EXPECT_EQ(miss("a128 b19 x"), std::nullopt);
  EXPECT_EQ(miss("a128 x128 c6"), std::nullopt);  // another path
}

TEST_F(TrieEviction, APlaceThatIsThereInPartIsRememberedAmongManyAlike) {
  // More prompts end in one tile than are remembered of it.
  Make({.full_tiles = 40, .window_tiles = 40, .window = 129});
  const std::vector<NodeId> first = Insert("a100");
  ASSERT_TRUE(trie_->AddResumePoint(first[0], 100, ResumeClass::kNewest));
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::vector<NodeId> nodes = Insert(std::string(1, c) + "100");
    ASSERT_TRUE(trie_->AddResumePoint(nodes[0], 100, ResumeClass::kNewest));
  }
  EXPECT_TRUE(MakeRoom({.window = 40}));
  EXPECT_EQ(trie_->NoteMiss(Match("a100 x"), Tokens("a100 x"), 0), ResumeClass::kNewest);
}

TEST_F(TrieEviction, APointThatCouldNotBeIsMissedLikeAnEvictedOne) {
  Make({.window = 129});
  const std::vector<NodeId> nodes = Insert("a128 b128", {1});
  EXPECT_FALSE(trie_->AddResumePoint(nodes[1], 128, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().resume_points, 0U);
  EXPECT_EQ(trie_->NoteMiss(Match("a128 b128 x"), Tokens("a128 b128 x"), 0), ResumeClass::kNewest);
}

TEST_F(TrieEviction, OneTokenMoreOrLessDoesNotLoseTheWindow) {
  // Exact multiples of the tile, and places just below a boundary.
  Make({.window = 129});
  Insert("a128 b128");
  EXPECT_EQ(SafeLength("a128 b128"), 255U);
  EXPECT_EQ(SafeLength("a128 b128 c"), 256U);
  EXPECT_EQ(SafeLength("a128 b127"), 254U);
  EXPECT_EQ(SafeLength("a128 b127 c9"), 255U);
}

}  // namespace
}  // namespace weir
