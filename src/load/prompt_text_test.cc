#include "load/prompt_text.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

ptrdiff_t WordsOf(const std::string& text) {
  return text.empty() ? 0 : 1 + std::count(text.begin(), text.end(), ' ');
}

std::string Text(const std::vector<TextPiece>& pieces, const Calibration& calibration = {}) {
  return PromptText(pieces, calibration);
}

// 8 words are 18 tokens and 512 words 648: 504 words in 630 tokens, and 8 / 0.8 = 10 leave 8.
TEST(Calibration, IsTheLineThroughTwoPrompts) {
  const auto calibration = Calibrate({.words = 8, .tokens = 18}, {.words = 512, .tokens = 648});
  ASSERT_TRUE(calibration);
  EXPECT_DOUBLE_EQ(calibration->words_per_token, 0.8);
  EXPECT_DOUBLE_EQ(calibration->overhead_tokens, 8);
}

TEST(Calibration, RefusesAServerThatCountsTheSameForBoth) {
  EXPECT_FALSE(Calibrate({.words = 8, .tokens = 18}, {.words = 512, .tokens = 18}));
  EXPECT_FALSE(Calibrate({.words = 8, .tokens = 0}, {.words = 8, .tokens = 1}));
}

TEST(WordText, ShorterTextBeginsLongerText) {
  EXPECT_EQ(WordsOf(WordText(3, 100)), 100);
  EXPECT_TRUE(WordText(3, 100).starts_with(WordText(3, 40) + " "));
  EXPECT_NE(WordText(3, 40), WordText(4, 40));
}

TEST(PromptText, HasTheWordsThatMakeItsTokens) {
  const Calibration calibration{.words_per_token = 0.8, .overhead_tokens = 10};
  EXPECT_EQ(WordsOf(Text({{.seed = 1, .end_tokens = 110}}, calibration)), 80);
  EXPECT_EQ(WordsOf(Text({{.seed = 1, .end_tokens = 5}}, calibration)), 1);  // never none
}

TEST(PromptText, EqualPiecesAreEqualText) {
  const std::string first = Text({{.seed = 1, .end_tokens = 50}, {.seed = 2, .end_tokens = 90}});
  const std::string second = Text({{.seed = 1, .end_tokens = 50}, {.seed = 3, .end_tokens = 70}});
  const std::string shared = Text({{.seed = 1, .end_tokens = 50}});
  EXPECT_EQ(WordsOf(shared), 50);
  EXPECT_TRUE(first.starts_with(shared + " "));
  EXPECT_TRUE(second.starts_with(shared + " "));
  EXPECT_NE(first.substr(0, second.size()), second);
}

// Blocks of 1.6 tokens: rounding does not add up.
TEST(PromptText, ManySmallPiecesHaveTheLengthOfTheWhole) {
  std::vector<TextPiece> pieces;
  for (uint32_t i = 1; i <= 100; ++i) {
    pieces.push_back({.seed = i, .end_tokens = static_cast<uint32_t>(1.6 * i)});
  }
  EXPECT_EQ(WordsOf(Text(pieces)), 160);
}

TEST(PromptText, TheOverheadShortensTheEnd) {
  const Calibration calibration{.words_per_token = 1, .overhead_tokens = 20};
  const std::string text =
      Text({{.seed = 1, .end_tokens = 50}, {.seed = 2, .end_tokens = 60}}, calibration);
  EXPECT_EQ(text, WordText(1, 40));
}

}  // namespace
}  // namespace weir
