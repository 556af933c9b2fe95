#include "api/stop_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

namespace weir {
namespace {

struct Outcome {
  std::string text;
  bool matched = false;
  bool operator==(const Outcome&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << '"' << outcome.text << "\" matched=" << outcome.matched;
}

Outcome Feed(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher(stops);
  Outcome out;
  for (const std::string& piece : pieces) out.text += matcher.Push(piece);
  out.text += matcher.Finish();
  out.matched = matcher.matched();
  return out;
}

// The obvious twin: cut the whole text before the leftmost stop string.
Outcome CutWhole(const std::vector<std::string>& stops, const std::string& text) {
  size_t end = std::string::npos;
  for (const std::string& stop : stops) end = std::min(end, text.find(stop));
  return {text.substr(0, end), end != std::string::npos};
}

TEST(StopMatcher, EndsBeforeAStopStringThatSpansPieces) {
  EXPECT_EQ(Feed({"END"}, {"abE", "N", "Dxyz"}), (Outcome{"ab", true}));
}

TEST(StopMatcher, HoldsBackOnlyWhatMayBegin) {
  StopMatcher matcher({"<stop>"});
  EXPECT_EQ(matcher.Push("one <st"), "one ");
  EXPECT_EQ(matcher.Push("ep"), "<step");
  EXPECT_EQ(matcher.Push("<"), "");
  EXPECT_EQ(matcher.Finish(), "<");
  EXPECT_FALSE(matcher.matched());
}

TEST(StopMatcher, FindsOneThatBeginsInsideItsOwnFalseStart) {
  EXPECT_EQ(Feed({"ha hi"}, {"ha ", "ha ", "ha hi"}), (Outcome{"ha ha ", true}));
  EXPECT_EQ(Feed({"aab"}, {"a", "a", "a", "b"}), (Outcome{"a", true}));
}

TEST(StopMatcher, TheLeftmostWinsEvenIfAnotherIsCompleteFirst) {
  EXPECT_EQ(Feed({"bcd", "abcde"}, {"xabcd", "e"}), (Outcome{"x", true}));
  EXPECT_EQ(Feed({"bcd", "abcde"}, {"xabcd", "f"}), (Outcome{"xa", true}));
  EXPECT_EQ(Feed({"bcd", "abcde"}, {"xabcd"}), (Outcome{"xa", true}));  // the text ends
}

TEST(StopMatcher, SaysNothingAfterAMatch) {
  StopMatcher matcher({"."});
  EXPECT_EQ(matcher.Push("a.b"), "a");
  EXPECT_TRUE(matcher.matched());
  EXPECT_EQ(matcher.Push("c"), "");
  EXPECT_EQ(matcher.Finish(), "");
}

TEST(StopMatcher, EqualsTheTwinHoweverTheTextIsCut) {
  const char* given = std::getenv("WEIR_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 20261129;
  std::mt19937_64 random(seed);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const auto word = [&](size_t letters) {
    std::string out;
    for (size_t i = 0; i < letters; ++i) out += static_cast<char>('a' + below(2));
    return out;
  };
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = below(3) + 1; i > 0; --i) stops.push_back(word(below(6) + 1));
    const std::string text = word(below(24));
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t count = below(5) + 1;
      pieces.push_back(text.substr(at, count));
      at += count;
    }
    ASSERT_EQ(Feed(stops, pieces), CutWhole(stops, text))
        << "WEIR_SEED=" << seed << " round " << round << " text " << text;
  }
}

}  // namespace
}  // namespace weir
