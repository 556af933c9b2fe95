#include "load/stream_event.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

StreamEvent Parse(std::string_view data) {
  const auto event = ParseStreamEvent(data);
  EXPECT_TRUE(event) << data;
  return event ? *event : StreamEvent{};
}

// Events as OpenAI's reference shows them.
TEST(StreamEvent, TextOfChatsAndOfCompletions) {
  EXPECT_EQ(Parse(R"({"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})").text,
            "");
  EXPECT_EQ(Parse(R"({"choices":[{"index":0,"delta":{"content":"Hi"}}],"usage":null})").text, "Hi");
  EXPECT_EQ(Parse(R"({"choices":[{"index":0,"delta":{"reasoning_content":"So"}}]})").text, "So");
  EXPECT_EQ(Parse(R"({"choices":[{"index":0,"text":" go","finish_reason":null}]})").text, " go");
  EXPECT_EQ(Parse(R"({"choices":[{"delta":{},"finish_reason":"length"}]})").text, "");
  EXPECT_TRUE(Parse("[DONE]").is_end);
}

TEST(StreamEvent, UsageWithAndWithoutCachedTokens) {
  const auto full = Parse(
      R"({"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,
          "prompt_tokens_details":{"cached_tokens":9}}})");
  ASSERT_TRUE(full.usage);
  EXPECT_EQ(full.usage->prompt_tokens, 12U);
  EXPECT_EQ(full.usage->answer_tokens, 3U);
  EXPECT_EQ(full.usage->cached_tokens, 9U);
  const auto bare =
      Parse(R"({"usage":{"prompt_tokens":12,"completion_tokens":3,"prompt_tokens_details":null}})");
  ASSERT_TRUE(bare.usage);
  EXPECT_EQ(bare.usage->cached_tokens, 0U);
}

TEST(StreamEvent, AnErrorIsItsMessage) {
  EXPECT_EQ(Parse(R"({"error":{"message":"no memory","code":503}})").error, "no memory");
  EXPECT_EQ(Parse(R"({"error":"gone"})").error, "gone");
  EXPECT_EQ(Parse(R"({"error":{"code":5}})").error, R"({"code":5})");
  EXPECT_FALSE(Parse(R"({"error":null})").error);
}

TEST(StreamEvent, OtherBytesAreRefusedOrSayNothing) {
  for (const char* data : {"", "x", "[1]", "7", "{", "\xff"}) {
    EXPECT_FALSE(ParseStreamEvent(data)) << data;
  }
  for (const char* data : {R"({"choices":7,"usage":[]})", R"({"choices":[7,{"delta":[]}]})",
                           R"({"usage":{"prompt_tokens":-1,"prompt_tokens_details":3}})",
                           R"({"choices":[{"delta":{"content":[1]},"text":{}}]})"}) {
    EXPECT_EQ(Parse(data).text, "") << data;
  }
}

TEST(ErrorMessage, IsTheServersOrTheBodysFirstBytes) {
  EXPECT_EQ(ErrorMessage(R"({"error":{"message":"queue full"}})"), "queue full");
  EXPECT_EQ(ErrorMessage("Bad Gateway"), "Bad Gateway");
  EXPECT_EQ(ErrorMessage(std::string(500, 'x')).size(), 200U);
}

}  // namespace
}  // namespace weir
