#include "prefix/cached_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "support/prefix_kv.h"

namespace weir {
namespace {

using test::PrefixKv;

const ReuseRules kRules{.layers = {{KvGroupKind::kFull, 0}, {KvGroupKind::kWindow, 0}}};

const ReuseRules kWithoutReplay{.layers = kRules.layers, .allow_replay = false};

std::vector<TokenId> Tokens(uint32_t count) {
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < count; ++i) tokens.emplace_back(static_cast<int32_t>(i));
  return tokens;
}

// Computes nothing, but does what a step does to tiles.
void Advance(CachedSequence& sequence, uint32_t count) {
  auto chunk = sequence.BeginChunk(count);
  ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
  for (const KvLayer layer : kRules.layers) {
    (void)chunk->Tiles(layer);
    chunk->EndLayer(layer);
  }
  sequence.Commit(std::move(*chunk));
}

// 2 * window bytes / full bytes a token: resuming at a tile's end reads W - 1 rows.
TEST(CheckpointTokens, AreWhereAWindowSavesAsMuchAByteAsFullTiles) {
  const KvLayout gemma_270m{
      .full = KvGroup{.layer_count = 3, .kv_heads = 1, .k_dim = 256, .v_dim = 256},
      .window =
          KvGroup{.layer_count = 15, .kv_heads = 1, .k_dim = 256, .v_dim = 256, .window = 512}};
  EXPECT_EQ(CheckpointTokens(gemma_270m), 5120U);  // 4 tiles of 15 layers, a tile of 3
  const KvLayout mimo_pro{
      .full = KvGroup{.layer_count = 10, .kv_heads = 8, .k_dim = 192, .v_dim = 128},
      .window =
          KvGroup{.layer_count = 60, .kv_heads = 8, .k_dim = 192, .v_dim = 128, .window = 129}};
  EXPECT_EQ(CheckpointTokens(mimo_pro), 1536U);  // 1 tile of 60 layers, a tile of 10
}

TEST(CachedSequence, ReplacesItsWindowThoughTheTrieHoldsItAsATail) {
  // Two window tiles are all that W = 127 ever needs; a message start makes a tail at 112. From
  // there to 259 tile 0 leaves, and tiles 1 and 2 enter: rows 133..258.
  PrefixKv kv({.window_tiles = 2, .window = 127, .max_chunk_tokens = 200});
  PrefixTrie trie(kv.cache(), {});
  CachedSequence sequence(trie, kv.cache(), kRules, "");
  const std::vector<uint32_t> message_starts = {112};
  sequence.Start(Tokens(259), message_starts);
  Advance(sequence, 112);
  Advance(sequence, 147);
  EXPECT_EQ(sequence.token_count(), 259U);
}

TEST(CachedSequence, LeavesTilesThatItKeptForOthersToTheTrie) {
  // W = 300: tiles 4..7 at 900, 5..7 at 1024 (rows 725..1023), 5..8 at 1025. Tile 8 gets the slot
  // in which tile 4 was kept for others.
  PrefixKv kv({.window_tiles = 4, .window = 300, .max_chunk_tokens = 900});
  PrefixTrie trie(kv.cache(), {});
  CachedSequence sequence(trie, kv.cache(), kRules, "");
  sequence.Start(Tokens(1100), {});
  for (const uint32_t count : {900, 124, 1}) Advance(sequence, count);
  EXPECT_EQ(sequence.token_count(), 1025U);
}

TEST(CachedSequence, LeavesOneNewestPointATurnAndOthersForAnotherAnswer) {
  PrefixKv kv({.window = 100, .max_chunk_tokens = 300});
  PrefixTrie trie(kv.cache(), {});
  const auto points = [&](ResumeClass resume_class) {
    return trie.stats().resume_points_by_class[static_cast<size_t>(resume_class)];
  };
  const auto prompt = Tokens(300);
  for (const int32_t answer : {7000, 8000}) {
    CachedSequence sequence(trie, kv.cache(), kRules, "");
    const uint32_t begin = sequence.Start(prompt, {}).position;
    EXPECT_EQ(begin, answer == 7000 ? 0U : 299U);  // the prompt's last token is computed again
    Advance(sequence, 300 - begin);
    EXPECT_EQ(points(ResumeClass::kNewest), answer == 7000 ? 0U : 1U);
    for (int i = 0; i < 10; ++i) {
      sequence.Append(TokenId(answer + i));
      Advance(sequence, 1);
    }
    sequence.Finish();
    EXPECT_EQ(points(ResumeClass::kNewest), answer == 7000 ? 1U : 2U);  // one for each answer
    EXPECT_EQ(points(ResumeClass::kSuperseded), 2U);
  }
}

// Prompt and answer of one token; returns where it began.
uint32_t Serve(PrefixTrie& trie, PrefixKv& kv, const std::vector<TokenId>& prompt,
               std::span<const uint32_t> message_starts = {},
               const ReuseRules& rules = kWithoutReplay) {
  CachedSequence sequence(trie, kv.cache(), rules, "");
  const uint32_t begin = sequence.Start(prompt, message_starts).position;
  while (sequence.token_count() < prompt.size()) {
    const auto left = static_cast<uint32_t>(prompt.size()) - sequence.token_count();
    Advance(sequence, std::min(left, 256U));
  }
  sequence.Finish();
  return begin;
}

TEST(CachedSequence, GivesUpItsOwnMessageStartsBeforeAnothersNewestPoint) {
  // W = 257: three window tiles a position, four where it is inside a tile. Six are enough for a
  // conversation that waits and one that runs, if that keeps nothing of the way it came.
  PrefixKv kv({.window_tiles = 6, .window = 257, .max_chunk_tokens = 256});
  PrefixTrie trie(kv.cache(), {});
  const std::vector<TokenId> waiting = Tokens(384);
  Serve(trie, kv, waiting);
  const std::vector<TokenId> running(1280, TokenId(7));
  const std::vector<uint32_t> message_starts = {100, 200, 300, 500, 600, 700, 900, 1000, 1100};
  Serve(trie, kv, running, message_starts);
  std::vector<TokenId> next_turn = waiting;
  next_turn.emplace_back(9);
  next_turn.emplace_back(9);
  EXPECT_EQ(Serve(trie, kv, next_turn), 384U);
}

TEST(CachedSequence, WritesOnInItsOwnTailRatherThanLosesAnothersNewestPoint) {
  // Two conversations fill the window pool to the last tile.
  PrefixKv kv({.window_tiles = 4, .window = 129, .max_chunk_tokens = 256});
  PrefixTrie trie(kv.cache(), {});
  std::vector<TokenId> a(200, TokenId(7));
  const std::vector<TokenId> b(200, TokenId(8));
  Serve(trie, kv, a);
  Serve(trie, kv, b);
  ASSERT_EQ(kv.cache().window_pool()->free_count(), 0U);
  a.insert(a.end(), 10, TokenId(9));
  EXPECT_EQ(Serve(trie, kv, a), 200U);
  std::vector<TokenId> next_turn = b;
  next_turn.insert(next_turn.end(), 10, TokenId(9));
  EXPECT_EQ(Serve(trie, kv, next_turn), 200U);
  a.insert(a.end(), 10, TokenId(9));
  EXPECT_EQ(Serve(trie, kv, a), 210U);
}

TEST(CachedSequence, LearnsThatAConversationCameBackThoughNothingWasLeftOfIt) {
  // One conversation fits. Two take turns and find nothing; a third passes by, once each time.
  PrefixKv kv({.full_tiles = 4, .window_tiles = 3, .window = 129, .max_chunk_tokens = 256});
  PrefixTrie trie(kv.cache(), {});
  const double before = trie.WorthOf(ResumeClass::kNewest, 200);
  for (int32_t round = 0; round < 40; ++round) {
    Serve(trie, kv, std::vector<TokenId>(300, TokenId(1000 + round)));
    Serve(trie, kv, std::vector<TokenId>(300, TokenId(2000 + round)));
  }
  const double never = trie.WorthOf(ResumeClass::kNewest, 200);
  EXPECT_LT(never, before / 2);
  for (int32_t round = 0; round < 40; ++round) {
    for (const int32_t first : {1, 2}) {
      std::vector<TokenId> prompt(300, TokenId(first));
      prompt.insert(prompt.end(), static_cast<size_t>(round), TokenId(5));
      Serve(trie, kv, prompt);
    }
  }
  EXPECT_GT(trie.WorthOf(ResumeClass::kNewest, 200), 2 * never);
}

TEST(CachedSequence, LearnsThatAConversationCameBackThoughAReplayServedIt) {
  PrefixKv kv({.full_tiles = 500, .window_tiles = 8, .window = 129, .max_chunk_tokens = 256});
  PrefixTrie trie(kv.cache(), {});
  for (int32_t round = 0; round < 80; ++round) {
    Serve(trie, kv, std::vector<TokenId>(1000, TokenId(1000 + round)), {}, kRules);
    ASSERT_TRUE(trie.MakeRoom({.window = 8}));
  }
  const double never = trie.WorthOf(ResumeClass::kNewest, 200);
  for (int32_t round = 0; round < 80; ++round) {
    std::vector<TokenId> prompt(1000, TokenId(1));
    prompt.insert(prompt.end(), static_cast<size_t>(round), TokenId(5));
    EXPECT_EQ(Serve(trie, kv, prompt, {}, kRules), round == 0 ? 0U : 999U + round);
    ASSERT_TRUE(trie.MakeRoom({.window = 8}));
  }
  EXPECT_GT(trie.WorthOf(ResumeClass::kNewest, 200), 2 * never);
}

TEST(CachedSequence, ExpectsNoBranchWhereAConversationOnlyGoesOn) {
  PrefixKv kv({.window_tiles = 40, .window = 129, .max_chunk_tokens = 256});
  PrefixTrie trie(kv.cache(), {});
  const auto branches = [&] {
    return trie.stats().resume_points_by_class[static_cast<size_t>(ResumeClass::kBranch)];
  };
  std::vector<TokenId> prompt(300, TokenId(7));
  Serve(trie, kv, prompt);
  ASSERT_TRUE(trie.MakeRoom({.window = 40}));
  prompt.insert(prompt.end(), 50, TokenId(8));
  EXPECT_EQ(Serve(trie, kv, prompt), 0U);
  EXPECT_EQ(branches(), 0U);
  ASSERT_TRUE(trie.MakeRoom({.window = 40}));
  prompt[310] = TokenId(9);
  EXPECT_EQ(Serve(trie, kv, prompt), 0U);
  EXPECT_EQ(branches(), 1U);  // at 310
}

}  // namespace
}  // namespace weir
