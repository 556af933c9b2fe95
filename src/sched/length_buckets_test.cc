#include "sched/length_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(LengthBuckets, ABoundBelongsToTheBucketBelowIt) {
  const LengthBuckets buckets;
  EXPECT_EQ(buckets.count(), 4U);
  EXPECT_EQ(buckets.IndexOf(0), 0U);
  EXPECT_EQ(buckets.IndexOf(4096), 0U);
  EXPECT_EQ(buckets.IndexOf(4097), 1U);
  EXPECT_EQ(buckets.IndexOf(16384), 1U);
  EXPECT_EQ(buckets.IndexOf(65536), 2U);
  EXPECT_EQ(buckets.IndexOf(65537), 3U);
  EXPECT_EQ(buckets.IndexOf(UINT32_MAX), 3U);
  EXPECT_EQ(buckets.NameOf(1), "4097-16384");
  EXPECT_EQ(buckets.NameOf(3), "65537-");
}

TEST(LengthBuckets, AShorterBucketGetsTwiceTheTurnsOfTheNext) {
  const LengthBuckets buckets;
  EXPECT_EQ(buckets.WeightOf(0), 8U);
  EXPECT_EQ(buckets.WeightOf(3), 1U);
}

TEST(LengthBuckets, ParsesBoundsAndSaysWhatIsWrongWithThem) {
  const auto parsed = LengthBuckets::Parse("2k,8K,40000");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->count(), 4U);
  EXPECT_EQ(parsed->IndexOf(2048), 0U);
  EXPECT_EQ(parsed->IndexOf(8193), 2U);
  EXPECT_EQ(parsed->IndexOf(40001), 3U);
  for (const char* bad : {"", "x", "4k,", ",4k", "4k,4k", "8k,4k", "0", "-1", "4kk", "4294967296",
                          "4194304k", "99999999999999999999", "1,2,3,4,5,6,7,8"}) {
    const auto result = LengthBuckets::Parse(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument) << bad;
  }
  EXPECT_THAT(LengthBuckets::Parse("8k,4k").error().message,
              testing::HasSubstr("4096 is not above 8192"));
}

}  // namespace
}  // namespace weir
