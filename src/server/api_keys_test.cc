#include "server/api_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/key_use.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ApiKeys Parsed(std::string_view text) {
  auto keys = ApiKeys::Parse(text, "keys.txt");
  EXPECT_TRUE(keys) << keys.error().message;
  return keys ? *keys : ApiKeys();
}

TEST(ApiKeys, AFileHasAKeyALineWithNameRightsAndLimit) {
  const ApiKeys keys = Parsed(
      "# who may come in\n"
      "sk-1 team-a concurrent=4\n"
      "\n"
      "  sk-2\tops admin  concurrent=2 \r\n"
      "sk-3\n"
      "sk-4 admin");
  ASSERT_EQ(keys.count(), 4U);
  EXPECT_EQ(keys.Find("sk-1"), 0U);
  EXPECT_EQ(keys.rights(0).name, "team-a");
  EXPECT_EQ(keys.rights(0).answers_max, 4U);
  EXPECT_FALSE(keys.rights(0).is_admin);
  EXPECT_EQ(keys.rights(1).name, "ops");
  EXPECT_EQ(keys.rights(1).answers_max, 2U);
  EXPECT_TRUE(keys.rights(1).is_admin);
  EXPECT_EQ(keys.rights(2).name, "key-3");
  EXPECT_EQ(keys.rights(2).answers_max, 0U);
  EXPECT_EQ(keys.rights(3).name, "key-4");
  EXPECT_TRUE(keys.rights(3).is_admin);
  EXPECT_TRUE(keys.HasAdmin());
  EXPECT_FALSE(Parsed("sk-1 a").HasAdmin());
}

TEST(ApiKeys, OnlyTheWholeKeyIsFound) {
  const std::string longest(ApiKeys::kKeyBytesMax, 'k');
  const ApiKeys keys = Parsed("sk-secret a\n" + longest + " b\n");
  EXPECT_EQ(keys.Find("sk-secret"), 0U);
  EXPECT_EQ(keys.Find(longest), 1U);
  using namespace std::string_view_literals;
  for (const std::string_view wrong : {""sv, "sk-secre"sv, "sk-secret "sv, "sk-secretx"sv,
                                       "Sk-secret"sv, "sk-secret\0"sv, "a"sv}) {
    EXPECT_EQ(keys.Find(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(keys.Find(longest + "k"), std::nullopt);
  EXPECT_EQ(ApiKeys().Find(""), std::nullopt);
}

struct BadFile {
  std::string text;
  std::string complaint;
};

TEST(ApiKeys, WhatIsWrongInAFileIsToldWithItsLineAndWithoutTheKey) {
  const std::vector<BadFile> all = {
      {"", "keys.txt has no key"},
      {"# nothing\n\n", "keys.txt has no key"},
      {"sk-1 a\nsk-1 b\n", "line 2: the key of a is given again"},
      {"sk-1 a\nsk-2 a\n", "line 2: the name a is given twice"},
      {"sk-1\nsk-2 key-1\n", "line 2: the name key-1 is given twice"},
      {"sk-1 a/b\n", "line 1: the name of a key"},
      {"sk-1 " + std::string(65, 'a') + "\n", "line 1: the name of a key"},
      {"\nsk-1 a root\n", "line 2: after the key and its name"},
      {"sk-1 a sk-2\n", "line 1: after the key and its name"},
      {"sk-1 a concurrent=\n", "line 1: concurrent must be"},
      {"sk-1 a concurrent=0\n", "line 1: concurrent must be"},
      {"sk-1 a concurrent=-1\n", "line 1: concurrent must be"},
      {"sk-1 a concurrent=2x\n", "line 1: concurrent must be"},
      {"sk-1 a concurrent=99999999999\n", "line 1: concurrent must be"},
      {"sk-\xC3\xA9 a\n", "line 1: a key must have"},
      {"sk-" + std::string(126, '1') + " a\n", "line 1: a key must have"},
  };
  for (const BadFile& bad : all) {
    const auto keys = ApiKeys::Parse(bad.text, "keys.txt");
    ASSERT_FALSE(keys) << bad.text;
    EXPECT_EQ(keys.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(keys.error().message, AllOf(HasSubstr(bad.complaint), Not(HasSubstr("sk-"))));
  }
}

TEST(BearerKey, IsWhatFollowsTheScheme) {
  EXPECT_EQ(BearerKey("Bearer sk-1"), "sk-1");
  EXPECT_EQ(BearerKey("bearer   sk-1"), "sk-1");
  for (const char* none :
       {"", "Bearer", "Bearer ", "Bearersk-1", "Token sk-1", "sk-1", "Basic x"}) {
    EXPECT_EQ(BearerKey(none), "") << none;
  }
}

TEST(KeyUse, ALeaseHoldsAnswersUntilItEnds) {
  const ApiKeys keys = Parsed("sk-1 a concurrent=3\nsk-2 b\n");
  KeyUse use(keys);
  EXPECT_EQ(use.Free(0), 3U);
  {
    const KeyLease one(use, 0, 1);
    const KeyLease two(use, 0, 2);
    EXPECT_EQ(use.Free(0), 0U);
    const KeyLease other(use, 1, 100);
    EXPECT_EQ(use.Free(1), UINT32_MAX) << "no limit";
  }
  EXPECT_EQ(use.Free(0), 3U);
}

}  // namespace
}  // namespace weir
