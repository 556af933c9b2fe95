#include "text/merge.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "text/token_lookup.h"

namespace weir {
namespace {

using Rules = std::map<std::string, uint32_t>;  // joined text to priority

std::vector<std::string> Symbols(const MergeWorkspace& workspace, std::string_view text) {
  std::vector<std::string> result;
  for (uint32_t i = 0; i != kNoSymbol; i = workspace.symbols[i].next) {
    result.emplace_back(text.substr(workspace.symbols[i].begin, workspace.symbols[i].byte_count));
  }
  return result;
}

void Merge(const Rules& rules, std::string_view text, MergeWorkspace& workspace) {
  workspace.symbols.clear();
  for (uint32_t i = 0; i < text.size(); ++i) workspace.Append(i, 1, kNoToken);
  MergeSymbols(
      [&](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<MergedPair> {
        const auto rule =
            rules.find(std::string(text.substr(left.begin, left.byte_count + right.byte_count)));
        if (rule == rules.end()) return std::nullopt;
        return MergedPair{rule->second, 0};
      },
      workspace);
}

// The definition, word for word: again and again the best pair, the leftmost of equals.
std::vector<std::string> SlowMerge(const Rules& rules, std::string_view text) {
  std::vector<std::string> symbols;
  for (const char c : text) symbols.emplace_back(1, c);
  while (true) {
    size_t best = symbols.size();
    uint32_t best_priority = UINT32_MAX;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto rule = rules.find(symbols[i] + symbols[i + 1]);
      if (rule != rules.end() && rule->second < best_priority) {
        best = i;
        best_priority = rule->second;
      }
    }
    if (best == symbols.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

TEST(MergeSymbols, EqualsTheDefinitionOnRandomRulesAndTexts) {
  std::mt19937 random(11);
  const auto random_text = [&](uint32_t longest) {
    std::string text(1 + random() % longest, 'a');
    for (char& c : text) c = static_cast<char>('a' + random() % 3);
    return text;
  };
  MergeWorkspace workspace;
  for (int round = 0; round < 500; ++round) {
    Rules rules;  // few priorities, so that equals are common
    for (int i = 0; i < 12; ++i) rules[random_text(5)] = static_cast<uint32_t>(random() % 6);
    const std::string text = random_text(40);
    Merge(rules, text, workspace);
    ASSERT_EQ(Symbols(workspace, text), SlowMerge(rules, text)) << text;
  }
}

TEST(MergeSymbols, TriesAtMostThreePairsForEachSymbolOfAMegabyteOfOneLetter) {
  const uint32_t count = 1 << 20;
  MergeWorkspace workspace;
  for (uint32_t i = 0; i < count; ++i) workspace.Append(i, 1, kNoToken);
  // Letters are joined to pairs, pairs to fours and so on up to 64, shortest first.
  MergeSymbols(
      [](const MergeSymbol& left, const MergeSymbol& right) -> std::optional<MergedPair> {
        if (left.byte_count != right.byte_count || left.byte_count == 64) return std::nullopt;
        return MergedPair{left.byte_count, 0};
      },
      workspace);
  uint32_t symbols = 0;
  for (uint32_t i = 0; i != kNoSymbol; i = workspace.symbols[i].next) {
    EXPECT_EQ(workspace.symbols[i].byte_count, 64U);
    ++symbols;
  }
  EXPECT_EQ(symbols, count / 64);
  EXPECT_LE(workspace.pairs_tried, uint64_t{3} * count);
}

TEST(TokenMatcher, FindsTheLeftmostThenLongestText) {
  TokenMatcher matcher;
  matcher.Add("bc", TokenId(0));
  matcher.Add("abx", TokenId(1));
  matcher.Add("b", TokenId(2));
  matcher.Add("bcde", TokenId(3));
  matcher.Add("b", TokenId(4));  // a duplicate: the first stays
  const auto match = matcher.Next("abcdbb", 0);
  ASSERT_TRUE(match.has_value());
  EXPECT_EQ(match->begin, 1U);
  EXPECT_EQ(match->end, 3U);
  EXPECT_EQ(match->token, TokenId(0));
  EXPECT_EQ(matcher.Next("abcdbb", 2)->begin, 4U);
  EXPECT_EQ(matcher.Next("abcdbb", 5)->token, TokenId(2));
  EXPECT_FALSE(matcher.Next("axx", 0).has_value());
  EXPECT_FALSE(matcher.Next("", 0).has_value());
}

TEST(TokenIndex, GivesTheFirstTokenOfAText) {
  const std::vector<std::string_view> texts = {"b", "", "a", "b", "abc"};
  const TokenIndex index(texts);
  EXPECT_EQ(index.Find("b"), TokenId(0));
  EXPECT_EQ(index.Find("abc"), TokenId(4));
  EXPECT_EQ(index.Find(""), std::nullopt);
  EXPECT_EQ(index.Find("abcd"), std::nullopt);
  EXPECT_EQ(index.longest_bytes(), 3U);
}

}  // namespace
}  // namespace weir
