#include "api/json_body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

std::string Nested(size_t depth) {
  return R"({"a":)" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

TEST(ParseJsonObject, ReadsAllKindsOfValues) {
  const auto json = ParseJsonObject(R"({"a":[1,-2,2.5,"x",true,null,{}],"b":{"c":"d"}})");
  ASSERT_TRUE(json);
  EXPECT_EQ(*json, Json::parse(R"({"a":[1,-2,2.5,"x",true,null,{}],"b":{"c":"d"}})"));
}

TEST(ParseJsonObject, RefusesWhatIsNoJsonObject) {
  const std::vector<std::string> bodies = {
      "",
      "  \n ",
      "{\"a\": [",
      "{\"a\": 1,}",
      "{\"a\": 1} x",
      "{\"a\": NaN}",
      "{\"a\": Infinity}",
      "{'a': 1}",
      "{\"a\": \"\xff\"}",
      "{\"a\": \"\xc0\x80\"}",
      "{\"a\": \"\xe2\x82\"}",
      "{\"a\": \"\x01\"}",
      "{\"a\": \"\\ud83d\"}",
      "{\"a\": \"\\ud8\"}",
      "{\"a\": 02}",
      "{\"a\": 1e999}",
      "{/* c */}",
      "[1]",
      "17",
      "null",
      std::string(100, '\0'),
  };
  for (const std::string& body : bodies) {
    const auto json = ParseJsonObject(body);
    ASSERT_FALSE(json) << body;
    EXPECT_EQ(json.error().status, 400);
    EXPECT_TRUE(Json::accept(ErrorBody(json.error())))
        << "an error is valid JSON whatever it cites";
  }
}

TEST(ParseJsonObject, BoundsTheNesting) {
  EXPECT_TRUE(ParseJsonObject(Nested(kJsonDepthMax)));
  EXPECT_FALSE(ParseJsonObject(Nested(kJsonDepthMax + 1)));
  const auto deep = ParseJsonObject(Nested(1000000));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, HasSubstr("200"));
  EXPECT_FALSE(ParseJsonObject(R"({"prompt": )" + std::string(100000, '[')));
}

TEST(ParseJsonObject, RefusesAKeyThatComesTwice) {
  const auto json = ParseJsonObject(R"({"max_tokens": 2, "n": 1, "max_tokens": 3})");
  ASSERT_FALSE(json);
  EXPECT_THAT(json.error().message, HasSubstr("max_tokens"));
}

TEST(ParseJsonObject, BoundsTheMembersOfAnObject) {
  std::string body = "{\"x\":0";
  for (size_t i = 1; i < kJsonMembersMax; ++i) body += ",\"" + std::to_string(i) + "\":0";
  EXPECT_TRUE(ParseJsonObject(body + "}"));
  EXPECT_FALSE(ParseJsonObject(body + ",\"y\":0}"));
}

}  // namespace
}  // namespace weir
