#include "simd/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

namespace weir {
namespace {

TEST(Isa, ScalarIsAlwaysThereAndPathsGoFromSlowToFast) {
  const auto isas = SupportedIsas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), Isa::kScalar);
  EXPECT_TRUE(std::is_sorted(isas.begin(), isas.end()));
}

TEST(Isa, NamesConvertBothWays) {
  constexpr std::pair<Isa, std::string_view> kNames[] = {
      {Isa::kScalar, "scalar"}, {Isa::kAvx2, "avx2"}, {Isa::kAvxVnni, "avxvnni"},
      {Isa::kAvx512, "avx512"}, {Isa::kAmx, "amx"},   {Isa::kNeon, "neon"}};
  for (const auto& [isa, name] : kNames) {
    EXPECT_EQ(NameOf(isa), name);
    EXPECT_EQ(IsaFromName(name), isa);
  }
  EXPECT_EQ(IsaFromName("AVX"), std::nullopt);
}

TEST(Isa, SupportedNamesAreListedInOrder) {
  std::string expected;
  for (const Isa isa : SupportedIsas()) expected += "/" + std::string(NameOf(isa));
  EXPECT_EQ("/" + SupportedIsaNames("/"), expected);
}

TEST(Isa, AvxVnniBuildsOnAvx2) {
  const auto isas = SupportedIsas();
  const auto has = [&](Isa isa) { return std::find(isas.begin(), isas.end(), isa) != isas.end(); };
  EXPECT_TRUE(has(Isa::kAvx2) || !has(Isa::kAvxVnni));
}

// Where a run is there to test one path (scripts/test arm64), that path must be possible.
TEST(Isa, WhatWeirIsaNamesIsChosen) {
  const char* wanted = std::getenv("WEIR_ISA");
  if (wanted == nullptr) GTEST_SKIP() << "WEIR_ISA is not set";
  EXPECT_EQ(NameOf(ChosenIsa()), wanted);
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
