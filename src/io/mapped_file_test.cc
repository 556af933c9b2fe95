#include "io/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weir {
namespace {

using testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() { std::filesystem::create_directories(folder_); }
  ~MappedFileTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  ("mapped_file_" + std::to_string(getpid()) + "_" +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string Text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(MappedFileTest, GivesTheBytesAlsoAfterTheyWereDropped) {
  const auto file = MappedFile::Open(Write("f", "hello"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(Text(*file), "hello");
  file->DropPages();
  EXPECT_EQ(Text(*file), "hello");
}

TEST_F(MappedFileTest, MovesItsMapping) {
  MappedFile first = *MappedFile::Open(Write("a", "first"));
  MappedFile second = *MappedFile::Open(Write("b", "second"));
  first = std::move(second);
  EXPECT_EQ(Text(first), "second");
  const MappedFile third = std::move(first);
  EXPECT_EQ(Text(third), "second");
}

TEST_F(MappedFileTest, SaysWhyAFileCannotBeUsed) {
  const auto missing = MappedFile::Open(folder_ / "missing");
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("missing': No such file"));
  EXPECT_EQ(MappedFile::Open(Write("f", "x") + "/below").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(MappedFile::Open(folder_).error().message, HasSubstr("is a directory"));
  EXPECT_THAT(MappedFile::Open(Write("empty", "")).error().message, HasSubstr("is empty"));
  EXPECT_THAT(MappedFile::Open("").error().message, HasSubstr("''"));
}

TEST_F(MappedFileTest, DoesNotWaitForThePipesWriter) {
  const std::string path = folder_ / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::Open(path).error().message, HasSubstr("a device or pipe"));
}

TEST_F(MappedFileTest, SaysThatAFileMayNotBeRead) {
  const std::string path = Write("secret", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  if (access(path.c_str(), R_OK) == 0) GTEST_SKIP() << "this user may read everything";
  const auto file = MappedFile::Open(path);
  EXPECT_EQ(file.error().code, ErrorCode::kIo);
  EXPECT_THAT(file.error().message, HasSubstr("Permission denied"));
}

}  // namespace
}  // namespace weir
