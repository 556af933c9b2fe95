#include "load/server_url.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ServerUrl, HasHostPortAndPath) {
  const auto url = ParseServerUrl("http://127.0.0.1:8080");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "127.0.0.1");
  EXPECT_EQ(url->port, "8080");
  EXPECT_EQ(url->path, "");
  EXPECT_EQ(url->HostHeader(), "127.0.0.1:8080");
  const auto bare = ParseServerUrl("http://box/llm/");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->host, "box");
  EXPECT_EQ(bare->port, "80");
  EXPECT_EQ(bare->path, "/llm");
  const auto v6 = ParseServerUrl("http://[::1]:80/");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->path, "");
  EXPECT_EQ(v6->HostHeader(), "[::1]:80");
}

TEST(ServerUrl, OtherTextIsRefused) {
  for (const char* text : {"", "127.0.0.1:8080", "http://", "http://:80", "http://a:", "http://a:b",
                           "http://a b", "http://a:123456", "ftp://a"}) {
    const auto url = ParseServerUrl(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(ParseServerUrl("https://a").error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace weir
