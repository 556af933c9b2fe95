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
