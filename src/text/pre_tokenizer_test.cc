#include "text/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using ::testing::ElementsAre;

std::vector<std::string_view> SplitBy(std::string_view name, std::string_view text) {
  auto pre_tokenizer = PreTokenizer::Create(name);
  if (!pre_tokenizer) {
    ADD_FAILURE() << pre_tokenizer.error().message;
    return {};
  }
  return pre_tokenizer->Split(text);
}

// Expected: tokenizers 0.23.3, pre_tokenize_str() of the families' own pre-tokenisers.
TEST(PreTokenizer, FamiliesDifferInDigitsContractionsCaseAndLineEnds) {
  const std::string_view text = "HTTPServer's 1234\n\n x";
  EXPECT_THAT(SplitBy("gpt-2", text), ElementsAre("HTTPServer", "'s", " 1234", "\n\n", " x"));
  EXPECT_THAT(SplitBy("smollm", text),
              ElementsAre("HTTPServer", "'s", " ", "1", "2", "3", "4", "\n\n", " x"));
  EXPECT_THAT(SplitBy("qwen2", text),
              ElementsAre("HTTPServer", "'s", " ", "1", "2", "3", "4", "\n\n", " x"));
  EXPECT_THAT(SplitBy("llama-bpe", text),
              ElementsAre("HTTPServer", "'s", " ", "123", "4", "\n\n", " x"));
  EXPECT_THAT(SplitBy("gpt-4o", text), ElementsAre("HTTPServer's", " ", "123", "4", "\n\n", " x"));
  EXPECT_THAT(SplitBy("tekken", text),
              ElementsAre("HTTPServer", "'s", " ", "1", "2", "3", "4", "\n\n", " x"));
}

TEST(PreTokenizer, ALookAheadEndsWhereItsWordEnds) {
  // smollm cuts at the digit first, so that both spaces are followed by nothing.
  EXPECT_THAT(SplitBy("smollm", "a  1"), ElementsAre("a", "  ", "1"));
  EXPECT_THAT(SplitBy("gpt-2", "a  1"), ElementsAre("a", " ", " 1"));
}

TEST(PreTokenizer, CharactersNewerThanPcre2HaveTheirClass) {
  // U+1E4F0 is a digit of Unicode 15, U+1C89 a capital of 16, U+180E no white space since 6.3.
  EXPECT_THAT(SplitBy("gpt-4o",
                      "a\xE1\xB2\x89"
                      "b"),
              ElementsAre("a",
                          "\xE1\xB2\x89"
                          "b"));
  EXPECT_THAT(SplitBy("qwen2", "\xF0\x9E\x93\xB0\xF0\x9E\x93\xB0"),
              ElementsAre("\xF0\x9E\x93\xB0", "\xF0\x9E\x93\xB0"));
  EXPECT_THAT(SplitBy("gpt-2",
                      " \xE1\xA0\x8E"
                      "b"),
              ElementsAre(" \xE1\xA0\x8E", "b"));
}

TEST(PreTokenizer, TheInterpreterFindsTheSameWordsAndNeitherGivesUpOnALongOne) {
  for (const char* name :
       {"gpt-2", "smollm", "llama-bpe", "qwen2", "gpt-4o", "tekken", "deepseek-v3"}) {
    const auto jit = PreTokenizer::Create(name);
    const auto interpreter = PreTokenizer::Create(name, PreTokenizer::Engine::kInterpreter);
    ASSERT_TRUE(jit.has_value() && interpreter.has_value());
    for (const char* part : {"a", "A", " ", "\n", "1", "-", "/", "\xF0\x9F\x91\x8D", "\xE5\xA5\xBD",
                             " \n", "aB", "'S"}) {
      std::string text;
      while (text.size() < 40'000) text += part;
      text += " x";
      SCOPED_TRACE(std::string(name) + " on " + part);
      const auto words = jit->Split(text);
      size_t byte_count = 0;
      for (const std::string_view word : words) byte_count += word.size();
      EXPECT_EQ(byte_count, text.size());
      EXPECT_EQ(words.back(), " x");
      EXPECT_TRUE(words == interpreter->Split(text));
    }
  }
}

TEST(PreTokenizer, NoTextHasNoWords) { EXPECT_THAT(SplitBy("qwen2", ""), ElementsAre()); }

}  // namespace
}  // namespace weir
