#include "text/utf8_stream.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace weir {
namespace {

const std::string kFffd = "\xEF\xBF\xBD";

TEST(Utf8Stream, HoldsACharacterBackUntilItsLastByte) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.Push("\x91"), "");
  EXPECT_EQ(stream.Push("\x8D!"), "\xF0\x9F\x91\x8D!");
  EXPECT_EQ(stream.Finish(), "");
}

TEST(Utf8Stream, AnUnfinishedCharacterEndsAsOneReplacement) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("\xF0\x9F\x91"), "");
  EXPECT_EQ(stream.Finish(), kFffd);
  EXPECT_EQ(stream.Finish(), "");
}

TEST(Utf8Stream, WhatCanNoLongerBecomeACharacterIsReplacedAtOnce) {
  Utf8Stream stream;
  EXPECT_EQ(stream.Push("\xE2\x82"), "");
  EXPECT_EQ(stream.Push("A"), kFffd + "A");
}

// The Unicode Standard, version 15, section 3.9, tables 3-8 to 3-11.
TEST(ReplaceInvalidUtf8, ReplacesEachMaximalPartAsTheStandardsExamplesDo) {
  const auto fffd = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += kFffd;
    return text;
  };
  EXPECT_EQ(ReplaceInvalidUtf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), fffd(8) + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), fffd(8) + "A");
  EXPECT_EQ(ReplaceInvalidUtf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            fffd(5) + "A" + fffd(2) + "B");
  EXPECT_EQ(ReplaceInvalidUtf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), fffd(4) + "A");
}

TEST(IsValidUtf8, TakesTheBordersAndRefusesWhatLiesBeyond) {
  for (const char* good : {"", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsValidUtf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82"}) {
    EXPECT_FALSE(IsValidUtf8(bad)) << bad;
  }
  EXPECT_TRUE(IsValidUtf8(std::string_view("a\0b", 3)));
}

TEST(Utf8Stream, AnyCutOfAnyBytesGivesTheTextOfTheWhole) {
  std::mt19937 random(7);
  const std::string_view alphabet =
      "ab\x80\xBF\xC2\xE0\xA0\xE2\x82\xAC\xED\x9F\xF0\x9F\x91\x8D\xF4";
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint32_t i = random() % 24; i > 0; --i) bytes += alphabet[random() % alphabet.size()];
    Utf8Stream stream;
    std::string text;
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = random() % 4;
      const std::string step = stream.Push(std::string_view(bytes).substr(at, length));
      EXPECT_TRUE(IsValidUtf8(step));
      text += step;
      at += length;
    }
    text += stream.Finish();
    ASSERT_EQ(text, ReplaceInvalidUtf8(bytes));
  }
}

}  // namespace
}  // namespace weir
