#include "quant/weight_type.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace weir {
namespace {

constexpr WeightType kAllTypes[] = {WeightType::kF32,  WeightType::kF16,  WeightType::kBF16,
                                    WeightType::kQ4_0, WeightType::kQ4_1, WeightType::kQ5_0,
                                    WeightType::kQ5_1, WeightType::kQ8_0, WeightType::kQ4_K,
                                    WeightType::kQ5_K, WeightType::kQ6_K};

std::vector<char> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class DequantizeRowOf : public testing::TestWithParam<WeightType> {};

// tools/make_quant_goldens.py
TEST_P(DequantizeRowOf, EqualsTheGgufPackageBitForBit) {
  const WeightType type = GetParam();
  const auto file =
      ReadFile(std::string(WEIR_GOLDEN_DIR "/quant/") + std::string(InfoOf(type).name) + ".bin");
  ASSERT_GT(file.size(), 4U);
  uint32_t count = 0;
  std::memcpy(&count, file.data(), 4);
  const uint64_t bytes = RowBytes(type, count);
  ASSERT_EQ(file.size(), 4 + bytes + count * 4);
  std::vector<float> expected(count);
  std::memcpy(expected.data(), file.data() + 4 + bytes, count * 4);

  std::vector<float> values(count);
  DequantizeRow(type, std::as_bytes(std::span(file)).subspan(4, bytes), values);
  EXPECT_EQ(values, expected);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, DequantizeRowOf, testing::ValuesIn(kAllTypes),
                         [](const auto& param_info) {
                           return std::string(InfoOf(param_info.param).name);
                         });

TEST(WeightType, NumbersOfGgufMapToTypesAndUnknownOnesToNone) {
  for (const WeightType type : kAllTypes) {
    EXPECT_EQ(WeightTypeFromGgml(InfoOf(type).ggml_id), type) << InfoOf(type).name;
  }
  EXPECT_EQ(WeightTypeFromGgml(10), std::nullopt);  // Q2_K
  EXPECT_EQ(WeightTypeFromGgml(39), std::nullopt);  // MXFP4
  EXPECT_EQ(WeightTypeFromGgml(0xffffffffU), std::nullopt);
}

TEST(WeightType, RowBytesFollowTheBlockSizes) {
  EXPECT_EQ(RowBytes(WeightType::kF32, 7), 28U);
  EXPECT_EQ(RowBytes(WeightType::kQ8_0, 640), 680U);    // 4.25 bytes for 4 weights
  EXPECT_EQ(RowBytes(WeightType::kQ4_K, 2048), 1152U);  // 4.5 bits a weight
  EXPECT_EQ(RowBytes(WeightType::kQ6_K, 256), 210U);
}

}  // namespace
}  // namespace weir
