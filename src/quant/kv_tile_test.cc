#include "quant/kv_tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "simd/isa.h"

namespace weir {
namespace {

std::vector<uint16_t> Plane(uint32_t heads, uint32_t dim) {
  return std::vector<uint16_t>(PlaneBytes(KvFormat::kF16, heads, dim) / 2, 0xFFFF);
}
std::byte* Bytes(std::vector<uint16_t>& plane) {
  return reinterpret_cast<std::byte*>(plane.data());
}

TEST(KvTile, APlaneHolds128PositionsOfTwoBytesAValue) {
  EXPECT_EQ(PlaneBytes(KvFormat::kF16, 1, 256), 65'536U);
  EXPECT_EQ(PlaneBytes(KvFormat::kF16, 8, 192), 393'216U);
  EXPECT_EQ(NameOf(KvFormat::kF16), "f16");
}

TEST(KvTile, AnOpaquePlaneHoldsABytePerElement) {
  EXPECT_EQ(PlaneBytes(KvFormat::kOpaque, 1, 576), 73'728U);
  EXPECT_EQ(NameOf(KvFormat::kOpaque), "opaque");
}

TEST(KvTile, KeysLieDimensionMajorAndValuesTokenMajor) {
  // 2 heads of 3; small integers n are 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600 in f16
  const std::vector<float> row = {1, 2, 3, 4, 5, 6};
  const uint16_t codes[] = {0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
  auto keys = Plane(2, 3);
  auto values = Plane(2, 3);
  WriteKeyRow(KvFormat::kF16, row, 2, 3, 77, Bytes(keys));
  WriteValueRow(KvFormat::kF16, row, 2, 3, 77, Bytes(values));
  auto expected_keys = Plane(2, 3);
  auto expected_values = Plane(2, 3);
  for (uint32_t head = 0; head < 2; ++head) {
    for (uint32_t d = 0; d < 3; ++d) {
      expected_keys[(head * 3 + d) * 128 + 77] = codes[head * 3 + d];
      expected_values[(head * 128 + 77) * 3 + d] = codes[head * 3 + d];
    }
  }
  EXPECT_EQ(keys, expected_keys);  // and no other slot changed
  EXPECT_EQ(values, expected_values);
}

// (f32, f16 bits): IEEE 754 binary16, ties to even; beyond its range +-65504.
struct Rounding {
  float value;
  uint16_t bits;
};
const Rounding kRoundings[] = {
    {0.0F, 0x0000},
    {-0.0F, 0x8000},
    {65504.0F, 0x7BFF},
    {65519.0F, 0x7BFF},
    {65520.0F, 0x7BFF},
    {1e30F, 0x7BFF},
    {-1e30F, 0xFBFF},
    {std::numeric_limits<float>::infinity(), 0x7BFF},
    {1.0F + 0x1p-11F, 0x3C00},             // half way: to even
    {1.0F + 0x1.8p-10F, 0x3C02},           // half way: to even
    {1.0F + 0x1p-11F + 0x1p-20F, 0x3C01},  // above half way
    {2047.5F, 0x6800},                     // carries into the exponent
    {0x1p-14F, 0x0400},                    // smallest normal
    {0x1p-24F, 0x0001},                    // smallest subnormal
    {0x1p-25F, 0x0000},                    // half of it: to even
    {0x1.8p-24F, 0x0002},                  // half way: to even
    {0x1.ffcp-15F, 0x0400},                // subnormal that rounds up to a normal
    {-0x1p-24F, 0x8001},
};

TEST(KvTile, RoundsToNearestEvenAndSaturatesOnEveryInstructionSetAtAnyPlaceOfARow) {
  const Isa before = ChosenIsa();
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa).has_value());
    for (const uint32_t dim : {1U, 63U, 64U, 65U, 200U}) {
      for (const Rounding& rounding : kRoundings) {
        const std::vector<float> row(dim, rounding.value);
        auto keys = Plane(1, dim);
        auto values = Plane(1, dim);
        WriteKeyRow(KvFormat::kF16, row, 1, dim, 0, Bytes(keys));
        WriteValueRow(KvFormat::kF16, row, 1, dim, 127, Bytes(values));
        for (uint32_t d = 0; d < dim; ++d) {
          ASSERT_EQ(keys[d * 128], rounding.bits) << NameOf(isa) << " " << rounding.value;
          ASSERT_EQ(values[127 * dim + d], rounding.bits) << NameOf(isa) << " " << rounding.value;
        }
      }
    }
  }
  ASSERT_TRUE(ForceIsa(before).has_value());
}

TEST(KvTile, NanStaysNan) {
  auto keys = Plane(1, 80);
  const std::vector<float> row(80, std::numeric_limits<float>::quiet_NaN());
  WriteKeyRow(KvFormat::kF16, row, 1, 80, 3, Bytes(keys));
  std::vector<float> back(80);
  ReadKeyRow(KvFormat::kF16, Bytes(keys), 1, 80, 3, back);
  for (const float value : back) EXPECT_TRUE(std::isnan(value));
}

TEST(KvTile, RowsReadBackAsTheyWereWrittenWhateverStandsBeside) {
  auto keys = Plane(3, 65);
  auto values = Plane(3, 65);
  std::vector<float> row(3 * 65);
  for (uint32_t slot = 0; slot < 128; ++slot) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((slot * 195 + i) % 2048);
    WriteKeyRow(KvFormat::kF16, row, 3, 65, slot, Bytes(keys));
    WriteValueRow(KvFormat::kF16, row, 3, 65, slot, Bytes(values));
  }
  for (uint32_t slot = 0; slot < 128; ++slot) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((slot * 195 + i) % 2048);
    std::vector<float> key(row.size());
    std::vector<float> value(row.size());
    ReadKeyRow(KvFormat::kF16, Bytes(keys), 3, 65, slot, key);
    ReadValueRow(KvFormat::kF16, Bytes(values), 3, 65, slot, value);
    ASSERT_EQ(key, row);
    ASSERT_EQ(value, row);
  }
}

}  // namespace
}  // namespace weir
