#include "text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weir {
namespace {

using testing::EndsWith;

TEST(ReadTextFile, GivesTheBytesOrSaysWhatIsWrong) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("text_file_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "text", std::ios::binary) << std::string("a\r\n\0b", 5);
  std::ofstream(folder / "empty").flush();
  EXPECT_EQ(ReadTextFile(folder / "text").value(), std::string("a\r\n\0b", 5));
  const auto failure = [&](const char* name) {
    const auto text = ReadTextFile(folder / name);
    return text ? std::string() : text.error().message;
  };
  EXPECT_THAT(failure("empty"), EndsWith("empty: is empty"));
  EXPECT_THAT(failure(""), EndsWith("is a folder"));
  EXPECT_THAT(failure("missing"), EndsWith("missing: cannot read it"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace weir
