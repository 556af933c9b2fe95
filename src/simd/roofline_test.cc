#include "simd/roofline.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weir {
namespace {

struct IsaGuard {
  Isa before = ChosenIsa();
  ~IsaGuard() { (void)ForceIsa(before); }
};

TEST(Roofline, SumWordsAddsEveryWordOnceAtAnyCountAndAlignment) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> words(1000);
  for (uint64_t& word : words) word = random();
  const IsaGuard guard;
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    for (const size_t offset : {0, 1, 5}) {
      for (const size_t count : {0, 1, 31, 32, 33, 64, 255, 256, 257, 990}) {
        uint64_t expected = 0;
        for (size_t i = 0; i < count; ++i) expected += words[offset + i];
        EXPECT_EQ(SumWords(std::span(words).subspan(offset, count), 1024), expected)
            << NameOf(isa) << " count " << count << " offset " << offset;
      }
    }
  }
}

uint32_t DotOf(const MultiplyAddInput& input) {
  int64_t dot = 0;
  for (size_t i = 0; i < 64; ++i) dot += int64_t{input.codes[i]} * input.activations[i];
  return static_cast<uint32_t>(dot);
}

TEST(Roofline, EveryLoopDoesAllTheMultiplicationsItClaims) {
  std::mt19937 random(2);
  std::vector<MultiplyAddInput> inputs(4);
  inputs[0].codes.fill(15);  // the extremes: 16-bit pair sums must hold them
  inputs[0].activations.fill(127);
  inputs[1].codes.fill(15);
  inputs[1].activations.fill(-127);
  for (size_t input = 2; input < inputs.size(); ++input) {
    for (size_t i = 0; i < 64; ++i) {
      inputs[input].codes[i] = static_cast<uint8_t>(random() % 16);
      inputs[input].activations[i] = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
    }
  }
  for (const Isa isa : SupportedIsas()) {
    ASSERT_FALSE(MultiplyAddLoopsOf(isa).empty());
    for (const MultiplyAddLoop& loop : MultiplyAddLoopsOf(isa)) {
      for (const MultiplyAddInput& input : inputs) {
        for (const uint64_t rounds : {0, 1, 2, 1001}) {
          const uint64_t dots = rounds * loop.dots_per_round;
          EXPECT_EQ(loop.run(input, rounds), static_cast<uint32_t>(dots * DotOf(input)))
              << NameOf(isa) << " " << loop.instruction << " rounds " << rounds;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir
