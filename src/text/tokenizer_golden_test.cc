// Small vocabularies of each kind, trained for the purpose, against what the reference gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "support/tokenizer_goldens.h"

namespace weir {
namespace {

Tokenizer TokenizerOf(const nlohmann::json& goldens) {
  const auto tokens = goldens.at("tokens").get<std::vector<std::string>>();
  std::vector<std::string> merges;
  Vocabulary vocabulary;
  vocabulary.texts.assign(tokens.begin(), tokens.end());
  vocabulary.kinds.assign(tokens.size(), TokenKind::kNormal);
  if (goldens.contains("merges")) {
    vocabulary.kind = TokenizerKind::kByteLevelBpe;
    vocabulary.pre_tokenizer = goldens.at("pre").get<std::string>();
    merges = goldens.at("merges").get<std::vector<std::string>>();
    vocabulary.merges.assign(merges.begin(), merges.end());
    const auto mark = [&](const char* name, TokenKind kind) {
      for (const std::string text : goldens.at("kinds").at(name)) {
        const auto at = std::find(tokens.begin(), tokens.end(), text);
        vocabulary.kinds[static_cast<size_t>(at - tokens.begin())] = kind;
      }
    };
    mark("user_defined", TokenKind::kUserDefined);
    mark("control", TokenKind::kControl);
  } else {
    vocabulary.kind = TokenizerKind::kSentencePiece;
    vocabulary.scores = goldens.at("scores").get<std::vector<float>>();
    vocabulary.kinds.clear();
    for (const int type : goldens.at("token_types")) {
      vocabulary.kinds.push_back(static_cast<TokenKind>(type - 1));
    }
    vocabulary.add_space_prefix = goldens.at("space_prefix").get<bool>();
  }
  auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  EXPECT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
  return std::move(tokenizer).Take();
}

class TokenizerGolden : public testing::TestWithParam<const char*> {};

TEST_P(TokenizerGolden, EncodesAndDecodesAsTheReference) {
  const auto goldens =
      ReadGoldens(std::string(WEIR_GOLDEN_DIR) + "/tokenizer/" + GetParam() + ".json");
  ExpectGoldens(TokenizerOf(goldens), goldens.at("cases"));
}

// Tokens of which no byte lies at or behind `offset`, by decoding one after the other.
uint32_t CountBefore(const Tokenizer& tokenizer, const std::vector<TokenId>& tokens,
                     size_t offset) {
  size_t end = 0;
  uint32_t count = 0;
  for (const TokenId token : tokens) {
    end += tokenizer.Piece(token, SpecialTokens::kParse).size();
    if (end > offset) break;
    ++count;
  }
  return count;
}

TEST_P(TokenizerGolden, FindsThePlaceOfAnyByteAmongTheTokens) {
  const auto goldens =
      ReadGoldens(std::string(WEIR_GOLDEN_DIR) + "/tokenizer/" + GetParam() + ".json");
  const Tokenizer tokenizer = TokenizerOf(goldens);
  size_t borders = 0;
  for (const nlohmann::json& one : goldens.at("cases")) {
    const auto text = one.at("text").get<std::string>();
    const auto tokens = tokenizer.Encode(text, SpecialTokens::kAsText, AddBos::kNo);
    std::string pieces;
    for (const TokenId token : tokens) pieces += tokenizer.Piece(token, SpecialTokens::kParse);
    if (!pieces.ends_with(text)) continue;  // it has unknown characters
    const size_t prefix = pieces.size() - text.size();
    for (size_t at = 1; at < std::min<size_t>(text.size(), 60); ++at) {
      if ((static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80) continue;  // inside a character
      const auto parts = tokenizer.EncodeParts(
          {{text.substr(0, at), false}, {text.substr(at), false}}, AddBos::kNo);
      ASSERT_EQ(parts.tokens, tokens);
      ASSERT_EQ(parts.tokens_before[0], 0U);
      ASSERT_EQ(parts.tokens_before[1], CountBefore(tokenizer, tokens, at + prefix))
          << one.dump() << " at " << at;
      ++borders;
    }
  }
  EXPECT_GT(borders, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, TokenizerGolden,
                         testing::Values("qwen2", "llama-bpe", "gpt-4o", "deepseek-v3", "llama2",
                                         "gemma-like"),
                         [](const auto& vocabulary) {
                           std::string name = vocabulary.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weir
