#include "api/tokenize.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/byte_tokenizer.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TokenizeTest : public testing::Test {
 protected:
  ApiResult<Json> TokenizeBytes(size_t bytes, bool with_pieces) const {
    const Json body = {{"content", std::string(bytes, 'a')}, {"with_pieces", with_pieces}};
    return Tokenize(body.dump(), tokenizer_, model_);
  }
  ApiResult<Json> DetokenizeIds(size_t count, int64_t id) const {
    const Json body = {{"tokens", std::vector<int64_t>(count, id)}};
    return Detokenize(body.dump(), tokenizer_, model_);
  }
  static void ExpectTooLong(const ApiResult<Json>& result, const char* field, size_t count,
                            size_t most) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().status, 413);
    EXPECT_EQ(result.error().param, field);
    EXPECT_THAT(result.error().message, AllOf(HasSubstr(fmt::format("{} ", count)),
                                              HasSubstr(fmt::format("at most {} ", most))));
  }

  const Tokenizer tokenizer_ = test::ByteTokenizer();
  const ServedModel model_{.id = "m", .vocab_size = 259, .context_tokens = 64};
};

TEST_F(TokenizeTest, TellsTheTokensAndIfAskedTheirPieces) {
  const int a = test::ByteTokenizerId("a").value();
  EXPECT_EQ(*TokenizeBytes(2, false),
            (Json{{"tokens", {a, a}}, {"count", 2}, {"max_model_len", 64}}));
  EXPECT_EQ((*TokenizeBytes(1, true))["tokens"], Json::array({{{"id", a}, {"piece", "a"}}}));
  EXPECT_EQ(*DetokenizeIds(2, a), (Json{{"content", "aa"}, {"prompt", "aa"}}));
}

TEST_F(TokenizeTest, ATextMayBeShorterIfItsPiecesAreWanted) {
  constexpr size_t kPieces = 262144;
  EXPECT_EQ((*TokenizeBytes(kPieces, true))["count"], kPieces);
  ExpectTooLong(TokenizeBytes(kPieces + 1, true), "content", kPieces + 1, kPieces);
  EXPECT_EQ((*TokenizeBytes(kPieces + 1, false))["count"], kPieces + 1);
  ExpectTooLong(TokenizeBytes(2097153, false), "content", 2097153, 2097152);
}

TEST_F(TokenizeTest, AListOfTooManyTokensIsRefusedUnread) {
  EXPECT_TRUE(DetokenizeIds(262144, 3));
  EXPECT_EQ(DetokenizeIds(262144, -1).error().status, 400);
  ExpectTooLong(DetokenizeIds(262145, -1), "tokens", 262145, 262144);
}

}  // namespace
}  // namespace weir
