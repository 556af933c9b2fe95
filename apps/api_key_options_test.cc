#include "api_key_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ApiKeyOptionsTest : public testing::Test {
 protected:
  std::string Write(std::string_view text) {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    const auto path =
        std::filesystem::path(testing::TempDir()) / (std::string(test->name()) + ".keys");
    std::ofstream(path) << text;
    return path.string();
  }
};

TEST_F(ApiKeyOptionsTest, NoneMeansOpen) { EXPECT_EQ(ReadApiKeys({})->count(), 0U); }

TEST_F(ApiKeyOptionsTest, KeysOfTheCommandLineAreAdmins) {
  const auto keys = ReadApiKeys({.keys = "one,two", .file = Write("three a\n")});
  ASSERT_TRUE(keys) << keys.error().message;
  ASSERT_EQ(keys->count(), 3U);
  EXPECT_FALSE(keys->rights(keys->Find("three").value()).is_admin);
  EXPECT_TRUE(keys->rights(keys->Find("one").value()).is_admin);
  EXPECT_EQ(keys->rights(keys->Find("two").value()).name, "api-key-2");
}

TEST_F(ApiKeyOptionsTest, WhatCannotBeReadIsToldWithoutTheKey) {
  const auto missing = ReadApiKeys({.keys = "", .file = "/no/such/file"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("/no/such/file"));
  EXPECT_FALSE(ReadApiKeys({.keys = "", .file = Write("")}));
  EXPECT_FALSE(ReadApiKeys({.keys = "", .file = Write("# none\n")}));
  const auto twice = ReadApiKeys({.keys = "secret,secret", .file = ""});
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, AllOf(HasSubstr("number 2"), Not(HasSubstr("secret"))));
  const auto empty = ReadApiKeys({.keys = "secret,,other", .file = ""});
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, AllOf(HasSubstr("number 2"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace weir
