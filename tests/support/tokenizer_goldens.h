// Goldens of tools/make_tokenizer_goldens.py: reading a file and holding a tokenizer against it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace weir {

inline nlohmann::json ReadGoldens(const std::string& path) {
  std::ifstream file(path);
  nlohmann::json goldens = nlohmann::json::parse(file, nullptr, false);
  EXPECT_TRUE(goldens.is_object()) << path << " is missing or no JSON";
  return goldens;
}

// Every case: ids of user text and of template text, and the text of the ids, whole and streamed.
inline void ExpectGoldens(const Tokenizer& tokenizer, const nlohmann::json& cases) {
  const auto ids_of = [](const std::vector<TokenId>& tokens) {
    std::vector<int32_t> ids;
    for (const TokenId token : tokens) ids.push_back(token.value());
    return ids;
  };
  EXPECT_GE(cases.size(), 200U);
  for (const nlohmann::json& one : cases) {
    const auto text = one.at("text").get<std::string>();
    SCOPED_TRACE(one.dump());
    const auto tokens = tokenizer.Encode(text, SpecialTokens::kAsText, AddBos::kNo);
    ASSERT_EQ(ids_of(tokens), one.at("ids").get<std::vector<int32_t>>());
    if (one.contains("parsed")) {
      ASSERT_EQ(ids_of(tokenizer.Encode(text, SpecialTokens::kParse, AddBos::kNo)),
                one.at("parsed").get<std::vector<int32_t>>());
    }
    ASSERT_EQ(tokenizer.Decode(tokens, SpecialTokens::kAsText), one.value("decoded", text));

    std::string pieces;
    std::string streamed;
    Utf8Stream stream;
    for (const TokenId token : tokens) {
      const std::string piece = tokenizer.Piece(token, SpecialTokens::kAsText);
      pieces += piece;
      streamed += stream.Push(piece);
    }
    streamed += stream.Finish();
    ASSERT_EQ(streamed, ReplaceInvalidUtf8(pieces));
    ASSERT_TRUE(streamed.ends_with(one.value("decoded", text)));  // but for a space prefix
  }
}

}  // namespace weir
