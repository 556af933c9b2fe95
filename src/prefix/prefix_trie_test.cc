#include "prefix/prefix_trie.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/prefix_kv.h"

namespace weir {
namespace {

// "a3 b" is three tokens 'a', then one 'b': texts of tests in a readable form.
std::vector<TokenId> Tokens(std::string_view text) {
  std::vector<TokenId> tokens;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    const TokenId token(text[at++]);
    uint32_t count = 0;
    while (at < text.size() && std::isdigit(text[at]) != 0) count = count * 10 + (text[at++] - '0');
    tokens.insert(tokens.end(), std::max(count, 1U), token);
  }
  return tokens;
}

class Trie : public testing::Test {
 protected:
  void Make(const test::PrefixKvShape& shape, uint64_t hash_mask = ~uint64_t{0}) {
    kv_.emplace(shape);
    trie_.emplace(kv_->cache(),
                  PrefixTrieOptions{.secret = {}, .fingerprint = "model", .hash_mask = hash_mask});
    root_ = trie_->Root("");
  }
  void TearDown() override {
    root_ = PrefixPin();
    pins_.clear();
    held_.clear();
    if (!trie_) return;
    trie_->CheckInvariants();
    trie_.reset();
    for (const TilePool* pool : {full(), window(), owed()}) {
      if (pool != nullptr) {
        EXPECT_EQ(pool->used_count(), 0U);
      }
    }
  }

  TilePool* full() { return kv_->cache().full_pool(); }
  TilePool* window() { return kv_->cache().window_pool(); }
  TilePool* owed() { return kv_->cache().owed_pool(); }

  // Puts a sequence in, tile by tile, with all window and owed tiles but those of the tiles in
  // `lost`. Returns its nodes.
  std::vector<NodeId> Insert(std::string_view text, const std::vector<size_t>& lost = {}) {
    const std::vector<TokenId> tokens = Tokens(text);
    std::vector<NodeId> nodes;
    NodeId parent = root_.node();
    for (size_t at = 0; at < tokens.size(); at += 128) {
      NodeTiles tiles = kv_->Allocate();
      if (std::ranges::find(lost, at / 128) != lost.end()) Bare(tiles);
      parent = InsertTile(parent, std::span(tokens).subspan(at), tiles);
      nodes.push_back(parent);
    }
    trie_->Stamp(parent);
    return nodes;
  }

  static void Bare(NodeTiles& tiles) {
    tiles.window = TileRef();
    tiles.owed = TileRef();
  }

  NodeId InsertTile(NodeId parent, std::span<const TokenId> tokens, NodeTiles& tiles) {
    const NodeId node =
        trie_->Insert(parent, tokens.first(std::min<size_t>(tokens.size(), 128)), tiles);
    trie_->CheckInvariants();
    return node;
  }

  PrefixMatch Match(std::string_view text) {
    PrefixMatch match;
    trie_->Match(root_.node(), Tokens(text), match);
    return match;
  }
  uint32_t FullLength(std::string_view text) { return Match(text).full_length; }
  uint32_t SafeLength(std::string_view text) { return Match(text).safe_length; }

  bool MakeRoom(const TileNeed& need) {
    const bool made = trie_->MakeRoom(need);
    trie_->CheckInvariants();
    return made;
  }

  std::optional<test::PrefixKv> kv_;
  std::optional<PrefixTrie> trie_;
  PrefixPin root_;
  std::vector<PrefixPin> pins_;
  std::vector<TileRef> held_;  // as a running sequence would
};

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

// --- Heat and full tiles ------------------------------------------------------------------------

TEST_F(Trie, FullTilesGoLeafFirstFromTheColdestConversation) {
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

TEST_F(Trie, AStampedConversationOutlivesANewerOne) {
  Make({.full_tiles = 6});
  const std::vector<NodeId> old = Insert("a128 b128 c40");
  Insert("x128 y128 z40");
  trie_->Stamp(old.back());
  EXPECT_TRUE(MakeRoom({.full = 3}));
  EXPECT_EQ(FullLength("a128 b128 c40 x"), 296U);
  EXPECT_EQ(FullLength("x128"), 0U);
}

TEST_F(Trie, ASharedBeginningStaysAsLongAsAnyBranchDoes) {
  Make({.full_tiles = 6});
  Insert("s128 a128");
  Insert("s128 b128 c9");
  EXPECT_TRUE(MakeRoom({.full = 5}));  // 6 - 4: three of the four go, the deepest first
  EXPECT_EQ(FullLength("s128 b128"), 128U);
  EXPECT_EQ(FullLength("s128 a128"), 128U);
}

TEST_F(Trie, PinnedPathsAreNeverEvicted) {
  Make({.full_tiles = 6});
  const std::vector<NodeId> nodes = Insert("a128 b128 c40");
  Insert("x128 y128 z40");
  const PrefixPin pin = trie_->Pin(nodes[1]);
  EXPECT_FALSE(MakeRoom({.full = 5}));
  EXPECT_EQ(full()->free_count(), 4U);  // what could be freed is free
  EXPECT_EQ(FullLength("a128 b128 c40"), 256U);
}

TEST_F(Trie, NodesWhoseTilesARunningSequenceUsesStayForTheyWouldFreeNothing) {
  Make({.full_tiles = 4});
  NodeTiles mine = kv_->Allocate();
  InsertTile(root_.node(), Tokens("m100"), mine);
  Insert("a128 b9");
  EXPECT_TRUE(MakeRoom({.full = 3}));
  EXPECT_EQ(FullLength("m100 x"), 100U);
  EXPECT_EQ(FullLength("a128"), 0U);
}

TEST_F(Trie, ATileOfTwoNodesIsFreeWhenBothWent) {
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

TEST_F(Trie, LosesNoMoreThanIsAskedForHoweverLittleRoomThereIs) {
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

// --- Windows ------------------------------------------------------------------------------------

TEST_F(Trie, WindowTilesThatNoResumePointNeedsGoFirst) {
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

TEST_F(Trie, AnIdleConversationKeepsItsNewestPointWhenOthersAreSuperseded) {
  // B6, B7: an idle session loses its tail's window first, and with it everything.
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

TEST_F(Trie, ResumingRefreshesOnlyTheLastWindow) {
  // B8: a match must not keep the windows of ancestors that nobody reads.
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

TEST_F(Trie, RefusesAResumePointWhoseWindowIsNotWhole) {
  Make({.window = 200});
  const std::vector<NodeId> nodes = Insert("a128 b128 c128", {1});
  EXPECT_FALSE(trie_->AddResumePoint(nodes[1], 50, ResumeClass::kNewest));
  EXPECT_FALSE(trie_->AddResumePoint(nodes[2], 71, ResumeClass::kNewest));   // rows 128..326
  EXPECT_FALSE(trie_->AddResumePoint(nodes[2], 128, ResumeClass::kNewest));  // rows 185..383
  EXPECT_TRUE(trie_->AddResumePoint(nodes[0], 50, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

TEST_F(Trie, AResumePointThatIsThereKeepsTheLaterLeavingClass) {
  Make({});
  const NodeId node = Insert("a128")[0];
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kBranch));
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kPeriodic));
  EXPECT_EQ(trie_->stats().resume_points_by_class[2], 1U);
  ASSERT_TRUE(trie_->AddResumePoint(node, 100, ResumeClass::kNewest));
  EXPECT_EQ(trie_->stats().resume_points_by_class[3], 1U);
  EXPECT_EQ(trie_->stats().resume_points, 1U);
}

TEST_F(Trie, AConversationThatGoesOnSupersedesTheNewestPointsOnItsPathUpToThere) {
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

TEST_F(Trie, DroppingAWindowDropsThePointsThatNeedItAndNoOther) {
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

TEST_F(Trie, AWindowTileOfALiveSequenceIsPassedOverForOneThatFreesSomething) {
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

TEST_F(Trie, WhenOnlyPartOfAWindowMustGoAnEarlierPositionStaysSafe) {
  Make({.window_tiles = 5, .window = 400});
  const NodeId node = Insert("a128 b128 c128 d128 e8").back();
  ASSERT_TRUE(trie_->AddResumePoint(node, 8, ResumeClass::kNewest));  // rows 121..519: all tiles
  EXPECT_TRUE(MakeRoom({.window = 1}));
  EXPECT_EQ(SafeLength("a128 b128 c128 d128 e8 x"), 512U);  // rows 113..511
}

TEST_F(Trie, EachPoolIsEvictedByItsOwnShortfall) {
  // B16: only the full pool's shortfall was passed on.
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

TEST_F(Trie, AWindowGoesFromAPinnedNodeAndComesBack) {
  // B12, B13, B14: locks that depend on what a node has at the moment get out of step.
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

TEST_F(Trie, OneTokenMoreOrLessDoesNotLoseTheWindow) {
  // B9, B10: exact multiples of the tile, and places just below a boundary.
  Make({.window = 129});
  Insert("a128 b128");
  EXPECT_EQ(SafeLength("a128 b128"), 255U);
  EXPECT_EQ(SafeLength("a128 b128 c"), 256U);
  EXPECT_EQ(SafeLength("a128 b127"), 254U);
  EXPECT_EQ(SafeLength("a128 b127 c9"), 255U);
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
  trie_->NoteVeto(nodes[1], 128);
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
