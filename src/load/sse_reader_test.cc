#include "load/sse_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

using testing::ElementsAre;

std::vector<std::string> Read(std::string_view bytes, size_t piece_bytes) {
  SseReader reader;
  std::vector<std::string> events;
  for (size_t at = 0; at < bytes.size(); at += piece_bytes) {
    const auto fed = reader.Feed(bytes.substr(at, piece_bytes),
                                 [&](std::string_view data) { events.emplace_back(data); });
    EXPECT_TRUE(fed);
  }
  return events;
}

TEST(SseReader, EventsEndWithABlankLineWhereverTheBytesAreSplit) {
  const std::string bytes =
      ": waiting\n\ndata: {\"a\":1}\n\nevent: x\ndata:two\ndata: lines\nid: 7\n\n\n\ndata: "
      "[DONE]\n\n";
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_THAT(Read(bytes, piece), ElementsAre("{\"a\":1}", "two\nlines", "[DONE]"));
  }
}

TEST(SseReader, AnyOfTheThreeLineEnds) {
  for (size_t piece = 1; piece < 10; ++piece) {
    EXPECT_THAT(Read("data: a\r\n\r\ndata: b\r\rdata: c\n\n", piece), ElementsAre("a", "b", "c"));
  }
}

TEST(SseReader, AnEventIsHandedOnWhenItsBlankLineComesAndNotBefore) {
  EXPECT_THAT(Read("data: a\n", 100), ElementsAre());
  EXPECT_THAT(Read("data:\n\ndata\n\n", 100), ElementsAre("", ""));
  EXPECT_THAT(Read("datum: x\n\n", 100), ElementsAre());
}

TEST(SseReader, GivesUpAnEventWithoutEnd) {
  SseReader reader;
  const std::string bytes(SseReader::kEventBytesMax, 'x');
  EXPECT_TRUE(reader.Feed(bytes, [](std::string_view) {}));
  EXPECT_FALSE(reader.Feed("x", [](std::string_view) {}));
}

}  // namespace
}  // namespace weir
