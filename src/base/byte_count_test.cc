#include "base/byte_count.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(ByteCount, ReadsWhatPeopleWrite) {
  EXPECT_EQ(*ParseByteCount("0"), 0U);
  EXPECT_EQ(*ParseByteCount("4096"), 4096U);
  EXPECT_EQ(*ParseByteCount("17B"), 17U);
  EXPECT_EQ(*ParseByteCount("512M"), 536870912U);
  EXPECT_EQ(*ParseByteCount("1.5GiB"), 1610612736U);
  EXPECT_EQ(*ParseByteCount("2k"), 2048U);
  EXPECT_EQ(*ParseByteCount("1TB"), 1099511627776U);
}

TEST(ByteCount, RefusesEverythingElse) {
  for (const char* text : {"", "M", "-1", "-0.5G", "1X", "1 M", " 1", "1MM", "1MiBs", "nan", "inf",
                           "1e30", "0x10", "5000000T", "1iB"}) {
    const auto bytes = ParseByteCount(text);
    ASSERT_FALSE(bytes.has_value()) << text << " gave " << *bytes;
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(ByteCount, WritesThreeDigitsOrSo) {
  EXPECT_EQ(FormatByteCount(0), "0 B");
  EXPECT_EQ(FormatByteCount(1023), "1023 B");
  EXPECT_EQ(FormatByteCount(1536), "1.50 KiB");
  EXPECT_EQ(FormatByteCount(12582912), "12.0 MiB");
  EXPECT_EQ(FormatByteCount(1610612736), "1.50 GiB");
  EXPECT_EQ(FormatByteCount(uint64_t{5000} << 40), "5000.0 TiB");
}

}  // namespace
}  // namespace weir
