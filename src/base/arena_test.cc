#include "base/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weir {
namespace {

TEST(Arena, BlocksAreAlignedZeroedAndApart) {
  Arena arena;
  std::vector<ArenaBlock> blocks;
  for (const size_t bytes : {1U, 64U, 100U, 4096U, 0U, 70U}) blocks.push_back(arena.Take(bytes));
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(blocks[i].data()) % 64, 0U);
    const std::span bytes(blocks[i].data(), blocks[i].bytes());
    EXPECT_TRUE(std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == std::byte{0}; }));
    std::fill(bytes.begin(), bytes.end(), static_cast<std::byte>(i + 1));
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::span bytes(blocks[i].data(), blocks[i].bytes());
    EXPECT_EQ(std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(i + 1)),
              static_cast<ptrdiff_t>(bytes.size()));
  }
}

TEST(Arena, SmallBlocksShareAMappingThatOutlivesTheArena) {
  ArenaBlock first;
  ArenaBlock second;
  {
    Arena arena;
    first = arena.Take(1000);
    second = arena.Take(1000);
    EXPECT_EQ(second.data() - first.data(), 1024);
    (void)arena.Take(Arena::kMappingBytes);  // needs a mapping of its own
  }
  first.data()[999] = std::byte{7};
  second.data()[999] = std::byte{8};
  EXPECT_EQ(first.data()[999], std::byte{7});
}

TEST(Arena, ABlockLargerThanAMappingIsWhole) {
  Arena arena;
  const ArenaBlock block = arena.Take(Arena::kMappingBytes + 1);
  block.data()[Arena::kMappingBytes] = std::byte{1};
  EXPECT_EQ(block.bytes(), Arena::kMappingBytes + 1);
}

}  // namespace
}  // namespace weir
