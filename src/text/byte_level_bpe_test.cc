#include "text/byte_level_bpe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "text/byte_token.h"
#include "text/tokenizer.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// 256 single bytes (token = byte), then `more` texts.
Vocabulary ByteVocabulary(std::vector<std::string_view> more,
                          std::vector<std::string_view> merges) {
  Vocabulary vocabulary;
  vocabulary.kind = TokenizerKind::kByteLevelBpe;
  vocabulary.pre_tokenizer = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.texts.push_back(ByteLevelCharacter(static_cast<uint8_t>(byte)));
  }
  vocabulary.texts.insert(vocabulary.texts.end(), more.begin(), more.end());
  vocabulary.kinds.resize(vocabulary.texts.size(), TokenKind::kNormal);
  vocabulary.merges = std::move(merges);
  return vocabulary;
}

std::vector<int32_t> EncodeWith(Vocabulary vocabulary, std::string_view text,
                                SpecialTokens special = SpecialTokens::kAsText) {
  auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  if (!tokenizer) {
    ADD_FAILURE() << tokenizer.error().message;
    return {};
  }
  std::vector<int32_t> ids;
  for (const TokenId id : tokenizer->Encode(text, special, AddBos::kNo)) ids.push_back(id.value());
  return ids;
}

Error Refusal(Vocabulary vocabulary) {
  const auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  EXPECT_FALSE(tokenizer.has_value());
  return tokenizer ? Error{} : tokenizer.error();
}

TEST(ByteLevelBpe, TheBestRankIsJoinedFirstAndTheLeftmostOfEquals) {
  //                                         256   257   258
  const Vocabulary vocabulary = ByteVocabulary({"bc", "ab", "aa"}, {"b c", "a b", "a a"});
  EXPECT_THAT(EncodeWith(vocabulary, "abc"), ElementsAre('a', 256));
  EXPECT_THAT(EncodeWith(vocabulary, "ab"), ElementsAre(257));
  EXPECT_THAT(EncodeWith(vocabulary, "aaa"), ElementsAre(258, 'a'));
}

TEST(ByteLevelBpe, WordsOfThePreTokeniserAreNeverJoined) {
  // "Ġ" is the space; gpt-2 puts it at the head of a word, so "aĠ" can't arise.
  const Vocabulary vocabulary = ByteVocabulary({"a\xC4\xA0",
                                                "\xC4\xA0"
                                                "b"},
                                               {"a \xC4\xA0", "\xC4\xA0 b"});
  EXPECT_THAT(EncodeWith(vocabulary, "a b"), ElementsAre('a', 257));
}

TEST(ByteLevelBpe, WholeWordsAreTakenWithoutMergesOnlyWhereThePreTokeniserSaysSo) {
  Vocabulary vocabulary = ByteVocabulary({"ab", "abc"}, {"a b"});
  vocabulary.pre_tokenizer = "llama-bpe";
  EXPECT_THAT(EncodeWith(vocabulary, "abc"), ElementsAre(257));
  vocabulary.pre_tokenizer = "qwen2";
  EXPECT_THAT(EncodeWith(vocabulary, "abc"), ElementsAre(256, 'c'));
}

TEST(ByteLevelBpe, ABytesTokenThatIsMissingIsLeftOut) {
  Vocabulary vocabulary = ByteVocabulary({"ac"}, {"a c"});
  vocabulary.texts['b'] = "<gone>";
  EXPECT_THAT(EncodeWith(vocabulary, "abc"), ElementsAre(256));
}

TEST(ByteLevelBpe, ControlTokensAreNeverMergedAndUserDefinedOnesAlwaysFound) {
  Vocabulary vocabulary = ByteVocabulary({"ab", "abc", "xyz"}, {"a b", "ab c"});
  vocabulary.kinds[257] = TokenKind::kControl;
  vocabulary.kinds[258] = TokenKind::kUserDefined;
  EXPECT_THAT(EncodeWith(vocabulary, "abcxyz"), ElementsAre(256, 'c', 258));
  EXPECT_THAT(EncodeWith(vocabulary, "abcxyz", SpecialTokens::kParse), ElementsAre(257, 258));
}

TEST(ByteLevelBpe, TokensDecodeToTheirBytesAndOthersToTheirText) {
  Vocabulary vocabulary = ByteVocabulary({"\xC4\xA0\xC3\xA9", "\xE4\xBD\xA0", "\xC3\xA9"}, {});
  vocabulary.kinds[258] = TokenKind::kUserDefined;
  const auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  ASSERT_TRUE(tokenizer.has_value());
  EXPECT_EQ(tokenizer->Piece(TokenId(256), SpecialTokens::kAsText), " \xE9");
  EXPECT_EQ(tokenizer->Piece(TokenId(257), SpecialTokens::kAsText), "\xE4\xBD\xA0");
  EXPECT_EQ(tokenizer->Piece(TokenId(258), SpecialTokens::kAsText), "\xC3\xA9");
}

TEST(ByteLevelBpe, MergesThatCannotBeAreCorrupt) {
  for (const char* merge : {"", "a", "a ", " a", "ab", "a z", "zz a"}) {
    const Error error = Refusal(ByteVocabulary({"ab"}, {"a b", merge}));
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << merge;
    EXPECT_THAT(error.message, HasSubstr("merge 1")) << merge;
  }
}

TEST(ByteLevelBpe, AnUnknownPreTokeniserIsNamed) {
  Vocabulary vocabulary = ByteVocabulary({}, {});
  vocabulary.pre_tokenizer = "bloom";
  const Error error = Refusal(vocabulary);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("\"bloom\""));
  EXPECT_THAT(error.message, HasSubstr("smollm"));
}

TEST(ByteToken, ByteLevelTextsAreGpt2s) {
  EXPECT_EQ(ByteLevelCharacter('!'), "!");
  EXPECT_EQ(ByteLevelCharacter(' '), "\xC4\xA0");   // U+0120
  EXPECT_EQ(ByteLevelCharacter('\n'), "\xC4\x8A");  // U+010A
  EXPECT_EQ(ByteLevelCharacter(0xAD), "\xC5\x83");  // U+0143
  EXPECT_EQ(ByteLevelCharacter(0xFF), "\xC3\xBF");  // U+00FF
  std::string all_texts;
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) {
    all_texts += ByteLevelCharacter(static_cast<uint8_t>(byte));
    all_bytes += static_cast<char>(byte);
  }
  EXPECT_EQ(BytesOfByteLevelText(all_texts), all_bytes);
  for (const char* other : {" ", "\xC5\x84", "\xC2\xA0", "\xE2\x96\x81", "a\xC4",
                            "\xC4"
                            "a"}) {
    EXPECT_EQ(BytesOfByteLevelText(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace weir
