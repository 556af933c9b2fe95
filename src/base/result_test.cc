#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace weir {
namespace {

Result<int> Half(int number) {
  if (number % 2 != 0) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} is odd", number));
  }
  return number / 2;
}

Result<std::string> Quarter(int number) {
  const int half = WEIR_TRY(Half(number));
  const int quarter = WEIR_TRY(Half(half));
  return std::to_string(quarter);
}

Result<void> NeedEven(int number) {
  WEIR_TRY(Half(number));
  return {};
}

TEST(Result, PassesValuesOn) { EXPECT_EQ(*Quarter(12), "3"); }

TEST(Result, PassesTheFirstErrorOnAcrossTypes) {
  const auto result = Quarter(6);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().message, "3 is odd");
}

TEST(Result, WorksWithoutAValue) {
  EXPECT_TRUE(NeedEven(2).has_value());
  EXPECT_EQ(NeedEven(5).error().message, "5 is odd");
}

TEST(Result, MovesWhatCannotBeCopied) {
  const auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); };
  const auto use = [&]() -> Result<int> {
    const std::unique_ptr<int> owned = WEIR_TRY(make());
    return *owned;
  };
  EXPECT_EQ(*use(), 7);
}

}  // namespace
}  // namespace weir
