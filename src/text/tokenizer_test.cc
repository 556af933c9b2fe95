#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <string>
#include <utility>

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A vocabulary under construction; keeps its texts.
struct Builder {
  Vocabulary vocabulary;
  std::deque<std::string> texts;

  TokenId Add(std::string text, TokenKind kind = TokenKind::kNormal, float score = 0) {
    texts.push_back(std::move(text));
    vocabulary.texts.push_back(texts.back());
    vocabulary.kinds.push_back(kind);
    if (vocabulary.kind == TokenizerKind::kSentencePiece) vocabulary.scores.push_back(score);
    return TokenId(static_cast<int32_t>(vocabulary.texts.size() - 1));
  }
  Tokenizer Make() {
    auto tokenizer = Tokenizer::Create(vocabulary);
    EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
    return std::move(tokenizer).Take();
  }
  Error Refusal() {
    auto tokenizer = Tokenizer::Create(vocabulary);
    EXPECT_FALSE(tokenizer.has_value());
    return tokenizer ? Error{} : tokenizer.error();
  }
};

// <unk> <s> </s>, 256 bytes, then pieces with falling scores.
struct Llama2Builder : Builder {
  explicit Llama2Builder(std::initializer_list<const char*> pieces) {
    vocabulary.unknown = Add("<unk>", TokenKind::kUnknown);
    vocabulary.bos = Add("<s>", TokenKind::kControl);
    vocabulary.eos = Add("</s>", TokenKind::kControl);
    vocabulary.add_bos = true;
    for (int byte = 0; byte < 256; ++byte) Add(fmt::format("<0x{:02X}>", byte), TokenKind::kByte);
    float score = 0;
    for (const char* piece : pieces) Add(piece, TokenKind::kNormal, score -= 1);
  }
};

constexpr int32_t kByte0 = 3;     // <0x00> in a Llama2Builder
constexpr int32_t kPiece0 = 259;  // its first piece

std::vector<int32_t> Ids(const std::vector<TokenId>& tokens) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokens) ids.push_back(token.value());
  return ids;
}

std::vector<int32_t> EncodeText(const Tokenizer& tokenizer, std::string_view text) {
  return Ids(tokenizer.Encode(text, SpecialTokens::kAsText, AddBos::kNo));
}

TEST(SentencePiece, TheBestScoreIsJoinedFirstAndTheLeftmostOfEquals) {
  //                        0     1     2    3    4    5
  Llama2Builder builder({"bc", "ab", "aa", "a", "b", "c"});
  builder.vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = builder.Make();
  // "bc" beats "ab" though "ab" comes first; of two overlapping "aa" the left one is joined.
  EXPECT_THAT(EncodeText(tokenizer, "abc"), ElementsAre(kPiece0 + 3, kPiece0 + 0));
  EXPECT_THAT(EncodeText(tokenizer, "aaa"), ElementsAre(kPiece0 + 2, kPiece0 + 3));
}

TEST(SentencePiece, ASpaceIsPutBeforeTheTextAndAfterControlTokensAndTakenOffAgain) {
  Llama2Builder builder(
      {"\xE2\x96\x81"
       "a",
       "a", "\xE2\x96\x81"});
  const Tokenizer tokenizer = builder.Make();
  EXPECT_THAT(EncodeText(tokenizer, "a"), ElementsAre(kPiece0));
  EXPECT_THAT(EncodeText(tokenizer, " a"), ElementsAre(kPiece0 + 2, kPiece0));
  EXPECT_THAT(EncodeText(tokenizer, ""), ElementsAre());
  const auto parsed = tokenizer.Encode("a</s>a", SpecialTokens::kParse, AddBos::kAsModelWants);
  EXPECT_THAT(Ids(parsed), ElementsAre(1, kPiece0, 2, kPiece0));
  EXPECT_EQ(tokenizer.Decode(parsed, SpecialTokens::kAsText), "a a");
  EXPECT_EQ(tokenizer.Decode(parsed, SpecialTokens::kParse), "<s> a</s> a");
  EXPECT_EQ(tokenizer.Piece(TokenId(kPiece0), SpecialTokens::kAsText), " a");
}

TEST(SentencePiece, ACharacterThatIsNoPieceBecomesItsBytes) {
  Llama2Builder builder({"a"});
  builder.vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = builder.Make();
  EXPECT_THAT(EncodeText(tokenizer, "a\xC3\xA9"),
              ElementsAre(kPiece0, kByte0 + 0xC3, kByte0 + 0xA9));
  EXPECT_EQ(
      tokenizer.Decode({TokenId(kByte0 + 0xC3), TokenId(kByte0 + 0xA9)}, SpecialTokens::kAsText),
      "\xC3\xA9");
  EXPECT_EQ(tokenizer.Piece(TokenId(kByte0 + 0xC3), SpecialTokens::kAsText), "\xC3");
}

TEST(SentencePiece, WithoutAllByteTokensARunOfUnknownCharactersIsOneUnknownToken) {
  Builder builder;
  builder.vocabulary.add_space_prefix = false;
  const TokenId unknown = builder.Add("<unk>", TokenKind::kUnknown);
  const TokenId a = builder.Add("a");
  builder.Add("<0x62>", TokenKind::kByte);
  builder.vocabulary.unknown = unknown;
  EXPECT_THAT(EncodeText(builder.Make(), "abca"),
              ElementsAre(a.value(), unknown.value(), a.value()));
  builder.vocabulary.unknown.reset();
  EXPECT_THAT(EncodeText(builder.Make(), "abca"), ElementsAre(a.value(), a.value()));
}

TEST(SentencePiece, UserDefinedTokensAreLongestFirstAndNeverJoined) {
  Llama2Builder builder({"<b", "<b>x", "<", "b", ">", "x", "\xE2\x96\x81"});
  builder.vocabulary.add_space_prefix = false;
  const int32_t tag = builder.Add("<b>", TokenKind::kUserDefined).value();
  const int32_t two = builder.Add("  ", TokenKind::kUserDefined).value();
  const int32_t three = builder.Add("   ", TokenKind::kUserDefined).value();
  const Tokenizer tokenizer = builder.Make();
  EXPECT_THAT(EncodeText(tokenizer, "<b>x<b"), ElementsAre(tag, kPiece0 + 5, kPiece0));
  EXPECT_THAT(EncodeText(tokenizer, "     x"), ElementsAre(three, two, kPiece0 + 5));
  EXPECT_EQ(tokenizer.Decode({TokenId(three), TokenId(tag)}, SpecialTokens::kAsText), "   <b>");
}

TEST(Tokenizer, ControlTokensComeFromTemplateTextOnly) {
  Llama2Builder builder({"<", "s", ">", "<s", "<s>"});
  builder.vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = builder.Make();
  // Pieces would make "<s>" too: the first token with that text is a control token, so they don't.
  EXPECT_THAT(EncodeText(tokenizer, "<s>"), ElementsAre(kPiece0 + 3, kPiece0 + 2));
  EXPECT_THAT(Ids(tokenizer.Encode("<s>", SpecialTokens::kParse, AddBos::kNo)), ElementsAre(1));
  EXPECT_EQ(tokenizer.Piece(TokenId(1), SpecialTokens::kAsText), "");
  EXPECT_EQ(tokenizer.Piece(TokenId(1), SpecialTokens::kParse), "<s>");
}

TEST(Tokenizer, APromptIsOneTextBetweenTheControlTokensOfItsTemplate) {
  Llama2Builder builder({"ab", "a", "b", "<", "s", ">"});
  builder.vocabulary.add_space_prefix = false;
  const Tokenizer tokenizer = builder.Make();
  const auto encode = [&](const Prompt& prompt) {
    return Ids(tokenizer.Encode(prompt, AddBos::kAsModelWants));
  };
  // "a" of the template and "b" of the user join; the user's "<s>" stays text, half a one too.
  EXPECT_THAT(encode({{"<s>a", true}, {"b", false}, {"</s>", true}}),
              ElementsAre(1, 1, kPiece0, 2));
  EXPECT_THAT(encode({{"a", true}, {"<s>", false}}),
              ElementsAre(1, kPiece0 + 1, kPiece0 + 3, kPiece0 + 4, kPiece0 + 5));
  EXPECT_THAT(encode({{"<s", false}, {">", true}}),
              ElementsAre(1, kPiece0 + 3, kPiece0 + 4, kPiece0 + 5));
  EXPECT_THAT(encode({}), ElementsAre(1));
}

TEST(Tokenizer, TellsHowManyTokensEndBeforeEachPart) {
  Llama2Builder builder({"ab", "a", "b", "\xE2\x96\x81",
                         "\xE2\x96\x81"
                         "b"});
  const auto before = [&](bool space_prefix, const Prompt& prompt) {
    builder.vocabulary.add_space_prefix = space_prefix;
    return builder.Make().EncodeParts(prompt, AddBos::kAsModelWants).tokens_before;
  };
  // <s> ab </s> a </s> b b b: a token over a border counts as behind it.
  const Prompt prompt = {{"a", true},  {"b", false}, {"</s>a</s>", true},
                         {"b", false}, {"b", true},  {"b", false}};
  EXPECT_THAT(before(false, prompt), ElementsAre(1, 1, 2, 5, 6, 7));
  // With a space before each stretch: <s> _ ab </s> _ a </s> _b b b
  EXPECT_THAT(before(true, prompt), ElementsAre(1, 2, 3, 7, 8, 9));
  // A space is one byte here and three in its token: <s> _b _ _b
  EXPECT_THAT(before(true, {{"b ", true}, {" b", false}}), ElementsAre(1, 3));
  EXPECT_THAT(before(false, {}), ElementsAre());
}

TEST(Tokenizer, InvalidUtf8IsEncodedAsReplacementCharacters) {
  Llama2Builder builder({"\xEF\xBF\xBD"});
  builder.vocabulary.add_space_prefix = false;
  EXPECT_THAT(EncodeText(builder.Make(), "\xFF\xE2\x82"), ElementsAre(kPiece0, kPiece0));
}

TEST(Tokenizer, IdsOutOfRangeHaveNoText) {
  const Tokenizer tokenizer = Llama2Builder({"a"}).Make();
  EXPECT_EQ(
      tokenizer.Decode({TokenId(-1), TokenId(kPiece0), TokenId(kPiece0 + 1), TokenId(1 << 30)},
                       SpecialTokens::kParse),
      "a");
}

TEST(Tokenizer, EndTokensAreEosAndControlTokensKnownToEndATurn) {
  Llama2Builder builder({"<|im_end|>"});
  const TokenId turn = builder.Add("<end_of_turn>", TokenKind::kControl);
  builder.Add("<EOT>", TokenKind::kUserDefined);
  EXPECT_THAT(builder.Make().end_tokens(), ElementsAre(TokenId(2), turn));
}

TEST(Tokenizer, WhereMessagesEndInsideAnAnswerTheirEndDoesNotEndIt) {
  Llama2Builder builder({});
  const TokenId end = builder.Add("<|end|>", TokenKind::kControl);
  EXPECT_THAT(builder.Make().end_tokens(), ElementsAre(TokenId(2), end));
  const TokenId answer_end = builder.Add("<|return|>", TokenKind::kControl);
  EXPECT_THAT(builder.Make().end_tokens(), ElementsAre(TokenId(2), answer_end));
}

TEST(Tokenizer, TheVocabularyOutlivesTheBytesItCameFrom) {
  std::optional<Tokenizer> tokenizer;
  {
    Llama2Builder builder({"a"});
    tokenizer.emplace(builder.Make());
    for (std::string& text : builder.texts) text.assign(text.size(), '?');
  }
  EXPECT_EQ(tokenizer->vocabulary().texts[kPiece0], "a");
  EXPECT_EQ(tokenizer->Piece(TokenId(kPiece0), SpecialTokens::kAsText), "a");
  EXPECT_EQ(tokenizer->vocab_size(), 260U);
}

TEST(Vocabulary, ContradictionsAreCorruptAndSayWhat) {
  const auto refusal = [](auto&& change) {
    Llama2Builder builder({"a"});
    change(builder.vocabulary);
    const Error error = builder.Refusal();
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    return error.message;
  };
  EXPECT_THAT(refusal([](Vocabulary& v) { v.texts.clear(); }), HasSubstr("no tokens"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.kinds.pop_back(); }), HasSubstr("259 token kinds"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.scores.pop_back(); }), HasSubstr("259 scores"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.scores[7] = std::nanf(""); }), HasSubstr("token 7"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.scores[8] = std::numeric_limits<float>::infinity(); }),
              HasSubstr("token 8"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.bos = TokenId(260); }), HasSubstr("bos token id 260"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.eot = TokenId(-1); }), HasSubstr("eot token id -1"));
  EXPECT_THAT(refusal([](Vocabulary& v) { v.texts[9] = "<0xG0>"; }), HasSubstr("byte token 9"));
}

TEST(Vocabulary, EmptyDuplicateAndBrokenTextsAreHarmless) {
  Llama2Builder builder({"a", "a", "", "\xFF", "b"});
  builder.vocabulary.add_space_prefix = false;
  builder.Add("", TokenKind::kUserDefined);
  builder.Add("\xE2", TokenKind::kUserDefined);  // would cut a character in two
  builder.Add("\x96\x81", TokenKind::kControl);
  const Tokenizer tokenizer = builder.Make();
  EXPECT_THAT(Ids(tokenizer.Encode("ab\xE2\x96\x81", SpecialTokens::kParse, AddBos::kNo)),
              ElementsAre(kPiece0, kPiece0 + 4, kByte0 + 0xE2, kByte0 + 0x96, kByte0 + 0x81));
  EXPECT_EQ(tokenizer.Decode({TokenId(kPiece0 + 3)}, SpecialTokens::kAsText), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace weir
