#include "simd/isa.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(Isa, ScalarIsAlwaysThereAndPathsGoFromSlowToFast) {
  const auto isas = SupportedIsas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::kScalar);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

TEST(Isa, NamesConvertBothWays) {
  EXPECT_EQ(IsaFromName("scalar"), Isa::kScalar);
  EXPECT_EQ(IsaFromName("avx2"), Isa::kAvx2);
  EXPECT_EQ(IsaFromName("avx512"), Isa::kAvx512);
  EXPECT_EQ(IsaFromName("AVX"), std::nullopt);
  EXPECT_EQ(NameOf(Isa::kAvx512), "avx512");
}

TEST(Isa, AForcedPathIsTheChosenOne) {
  const Isa before = ChosenIsa();
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    EXPECT_EQ(ChosenIsa(), isa);
  }
  ASSERT_TRUE(ForceIsa(before));
}

}  // namespace
}  // namespace weir
