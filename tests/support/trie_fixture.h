// A trie over pools of tiny tiles, and texts whose tokens a test can read.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "prefix/prefix_trie.h"
#include "support/prefix_kv.h"

namespace weir::test {

// "a3 b" is three tokens 'a', then one 'b': texts of tests in a readable form.
inline std::vector<TokenId> Tokens(std::string_view text) {
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

class TrieTest : public ::testing::Test {
 protected:
  void Make(const PrefixKvShape& shape, uint64_t hash_mask = ~uint64_t{0},
            uint32_t replayable_from = ~uint32_t{0}) {
    kv_.emplace(shape);
    trie_.emplace(kv_->cache(), PrefixTrieOptions{.secret = {},
                                                  .fingerprint = "model",
                                                  .replayable_from = replayable_from,
                                                  .hash_mask = hash_mask});
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

  std::optional<PrefixKv> kv_;
  std::optional<PrefixTrie> trie_;
  PrefixPin root_;
  std::vector<PrefixPin> pins_;
  std::vector<TileRef> held_;  // as a running sequence would
};

}  // namespace weir::test
