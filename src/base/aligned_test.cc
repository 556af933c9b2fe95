#include "base/aligned.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weir {
namespace {

TEST(AlignedArray, IsZeroedAndOnACacheLine) {
  for (const size_t count : {size_t{1}, size_t{1000}, size_t{3} << 20}) {
    const AlignedArray<float> array(count);
    EXPECT_EQ(array.count(), count);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0U);
    EXPECT_TRUE(std::all_of(array.span().begin(), array.span().end(),
                            [](float value) { return value == 0; }));
  }
}

TEST(AlignedArray, OfNothingHasNoMemory) {
  const AlignedArray<int> array(0);
  EXPECT_EQ(array.data(), nullptr);
  EXPECT_TRUE(array.span().empty());
}

TEST(AlignedArray, MovesItsMemory) {
  AlignedArray<int> first(4);
  first[2] = 7;
  const int* data = first.data();
  const AlignedArray<int> second = std::move(first);
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(second[2], 7);
}

TEST(AlignedArray, GrowsButNeverShrinks) {
  AlignedArray<int> array(8);
  const int* data = array.data();
  array.EnsureCount(4);
  EXPECT_EQ(array.data(), data);
  array.EnsureCount(1 << 20);
  EXPECT_EQ(array.count(), size_t{1} << 20);
  array[(1 << 20) - 1] = 1;
}

TEST(AlignedBytes, CostsAddressesOnlyUntilWritten) {
  // More than nearly any machine that runs the tests, and well inside the addresses that the thread
  // sanitizer leaves to programs (1.5 TiB, less what randomisation takes of them).
  constexpr size_t kBytes = size_t{256} << 30;
  const AlignedBytes slab(kBytes);
  slab.data()[kBytes - 1] = std::byte{1};
  EXPECT_EQ(slab.data()[0], std::byte{0});
}

}  // namespace
}  // namespace weir
