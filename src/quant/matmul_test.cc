#include "quant/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "quant/block_format.h"
#include "simd/half.h"
#include "simd/isa.h"

namespace weir {
namespace {

constexpr WeightType kAllTypes[] = {WeightType::kF32,  WeightType::kF16,  WeightType::kBF16,
                                    WeightType::kQ4_0, WeightType::kQ4_1, WeightType::kQ5_0,
                                    WeightType::kQ5_1, WeightType::kQ8_0, WeightType::kQ4_K,
                                    WeightType::kQ5_K, WeightType::kQ6_K};

// A matrix of random codes and sane scales, as a GGUF file would hold it.
struct Matrix {
  WeightType type;
  uint32_t rows;
  uint32_t cols;
  std::vector<std::byte> bytes;

  MatrixView view() const { return {type, rows, cols, bytes}; }
  std::span<const std::byte> Row(size_t row) const {
    const uint64_t row_bytes = RowBytes(type, cols);
    return std::span(bytes).subspan(row * row_bytes, row_bytes);
  }
};

void StoreHalf(std::byte* at, float value) {
  const uint16_t half = FloatToHalf(value);
  std::memcpy(at, &half, 2);
}

Matrix RandomMatrix(WeightType type, uint32_t rows, uint32_t cols, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  Matrix matrix{type, rows, cols, std::vector<std::byte>(RowBytes(type, cols) * rows)};
  const WeightTypeInfo& info = InfoOf(type);
  for (auto& byte : matrix.bytes) byte = static_cast<std::byte>(generator());
  for (size_t at = 0; at < matrix.bytes.size(); at += info.block_bytes) {
    std::byte* block = &matrix.bytes[at];
    const float value = normal(generator);
    if (type == WeightType::kF32) {
      std::memcpy(block, &value, 4);
    } else if (type == WeightType::kF16) {
      StoreHalf(block, value);
    } else if (type == WeightType::kBF16) {
      const auto bfloat = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
      std::memcpy(block, &bfloat, 2);
    } else {
      StoreHalf(block + ScaleOffsetsOf(type).scale, value);
      const ScaleKind kind = BlockFormatOf(type).scale_kind;
      if (kind == ScaleKind::kAffine || kind == ScaleKind::kK) {
        StoreHalf(block + ScaleOffsetsOf(type).addend, normal(generator));
      }
    }
  }
  return matrix;
}

PackedMatrix Pack(const MatrixView& matrix, ThreadPool& pool) {
  Arena arena;
  return PackedMatrix::Pack(matrix, pool, arena);
}

std::vector<float> RandomValues(size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(generator);
  return values;
}

std::vector<float> Multiply(const PackedMatrix& weights, const std::vector<float>& values,
                            uint32_t rows, ThreadPool& pool) {
  Activations x;
  x.Set(values.data(), rows, weights.cols());
  std::vector<float> y(static_cast<size_t>(rows) * weights.rows(), -7.0F);
  MatMul(weights, x, y.data(), weights.rows(), pool);
  return y;
}

// What the kernels see of x: codes times scale, or x itself.
std::vector<float> AsSeen(WeightType type, const std::vector<float>& values) {
  if (!IsQuantized(type)) return values;
  std::vector<float> seen(values.size());
  for (size_t block = 0; block < values.size(); block += 32) {
    float max = 0.0F;
    for (size_t i = block; i < block + 32; ++i) max = std::max(max, std::abs(values[i]));
    for (size_t i = block; i < block + 32; ++i) {
      const float code = max == 0.0F ? 0.0F : std::nearbyint(values[i] * (127.0F / max));
      seen[i] = code * (max / 127.0F);
    }
  }
  return seen;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

struct IsaGuard {
  Isa before = ChosenIsa();
  ~IsaGuard() { (void)ForceIsa(before); }
};

std::string TypeName(const testing::TestParamInfo<WeightType>& param) {
  return std::string(InfoOf(param.param).name);
}

class QuantizedMatMulOf : public testing::TestWithParam<WeightType> {
 protected:
  ThreadPool pool_{2};
};
INSTANTIATE_TEST_SUITE_P(QuantizedTypes, QuantizedMatMulOf,
                         testing::ValuesIn(std::span(kAllTypes).subspan(3)), TypeName);

class MatMulOf : public testing::TestWithParam<WeightType> {
 protected:
  // Columns that this type allows, the widest K of the demo models among them.
  static std::vector<uint32_t> Columns() {
    const uint32_t block = InfoOf(GetParam()).block_elements;
    if (block == 256) return {256, 768, 2048};
    if (block == 32) return {32, 96, 640, 2048};
    return {1, 7, 32, 100, 640};
  }
  ThreadPool pool_{2};
};
INSTANTIATE_TEST_SUITE_P(AllTypes, MatMulOf, testing::ValuesIn(kAllTypes), TypeName);

// Reference: f64 products of the dequantised weights and activations. Each of the n terms that an
// output adds (a block or, for floats, a column) is rounded three times at most, and each partial
// sum once: an error of (n + 3) * FLT_EPSILON * sum(|w x|) at most, with the dequantised weight's
// own two roundings.
TEST_P(MatMulOf, StaysWithinTheBoundOfAnF64Reference) {
  for (const uint32_t cols : Columns()) {
    const Matrix matrix = RandomMatrix(GetParam(), 19, cols, cols);
    const auto values = RandomValues(static_cast<size_t>(3) * cols, 5);
    const auto seen = AsSeen(GetParam(), values);
    const auto y = Multiply(Pack(matrix.view(), pool_), values, 3, pool_);
    std::vector<float> weights(cols);
    for (size_t row = 0; row < matrix.rows; ++row) {
      DequantizeRow(matrix.type, matrix.Row(row), weights);
      for (size_t m = 0; m < 3; ++m) {
        double expected = 0.0;
        double magnitude = 0.0;
        for (size_t col = 0; col < cols; ++col) {
          const double term = static_cast<double>(weights[col]) * seen[m * cols + col];
          expected += term;
          magnitude += std::abs(term);
        }
        const double terms = IsQuantized(matrix.type) ? cols / 16.0 : cols;
        const double bound = (terms + 5.0) * std::numeric_limits<float>::epsilon() * magnitude;
        ASSERT_NEAR(y[m * matrix.rows + row], expected, bound) << "cols " << cols << " row " << row;
      }
    }
  }
}

TEST_P(MatMulOf, ARowHasTheSameBitsAloneAndInABatchAndOnAnyThreads) {
  const IsaGuard guard;
  const uint32_t cols = Columns()[Columns().size() - 2];
  const Matrix matrix = RandomMatrix(GetParam(), 35, cols, 3);
  const PackedMatrix packed = Pack(matrix.view(), pool_);
  const uint32_t rows = 29;
  const auto values = RandomValues(static_cast<size_t>(rows) * cols, 4);
  for (const Isa isa : SupportedIsas()) {
    SCOPED_TRACE(NameOf(isa));
    ASSERT_TRUE(ForceIsa(isa));
    const auto whole = Multiply(packed, values, rows, pool_);
    for (const uint32_t batch : {1, 2, 3, 7, 8, 9, 16, 23}) {
      ThreadPool pool(1 + batch % 3);
      for (uint32_t first = 0; first < rows; first += batch) {
        const uint32_t count = std::min(batch, rows - first);
        const std::vector<float> part(values.begin() + first * cols,
                                      values.begin() + (first + count) * cols);
        const std::vector<float> expected(whole.begin() + first * matrix.rows,
                                          whole.begin() + (first + count) * matrix.rows);
        ASSERT_TRUE(SameBits(Multiply(packed, part, count, pool), expected))
            << "batch " << batch << " row " << first;
      }
    }
  }
}

TEST_P(MatMulOf, EveryIsaHasTheScalarBits) {
  const IsaGuard guard;
  for (const uint32_t cols : Columns()) {
    for (const uint32_t outputs : {1, 16, 33}) {
      const Matrix matrix = RandomMatrix(GetParam(), outputs, cols, outputs);
      const PackedMatrix packed = Pack(matrix.view(), pool_);
      for (const uint32_t rows : {1, 2, 6, 11, 16, 37}) {
        auto values = RandomValues(static_cast<size_t>(rows) * cols, 6);
        values[0] *= 1e30F;  // one block of huge values
        for (size_t i = cols; i < std::min<size_t>(values.size(), cols + 32); ++i) {
          values[i] *= 1e-36F;  // and one whose scale would be subnormal
        }
        ASSERT_TRUE(ForceIsa(Isa::kScalar));
        const auto expected = Multiply(packed, values, rows, pool_);
        for (const Isa isa : SupportedIsas()) {
          ASSERT_TRUE(ForceIsa(isa));
          ASSERT_TRUE(SameBits(Multiply(packed, values, rows, pool_), expected))
              << NameOf(isa) << " [" << outputs << ", " << cols << "] rows " << rows;
        }
      }
    }
  }
}

// The largest codes of both signs: an 8-bit sum that saturates at 16 bits would show here.
TEST_P(QuantizedMatMulOf, ExtremeCodesDoNotSaturate) {
  const IsaGuard guard;
  const uint32_t cols = 256;
  for (const uint8_t fill : {0x00, 0x7f, 0x80, 0xff}) {
    Matrix matrix = RandomMatrix(GetParam(), 16, cols, 8);
    const WeightTypeInfo& info = InfoOf(matrix.type);
    for (size_t at = 0; at < matrix.bytes.size(); at += info.block_bytes) {
      std::memset(&matrix.bytes[at], fill, info.block_bytes);
      StoreHalf(&matrix.bytes[at + ScaleOffsetsOf(matrix.type).scale], 1.0F);
      const ScaleKind kind = BlockFormatOf(matrix.type).scale_kind;
      if (kind == ScaleKind::kAffine || kind == ScaleKind::kK) {
        StoreHalf(&matrix.bytes[at + ScaleOffsetsOf(matrix.type).addend], 0.0F);
      }
    }
    const PackedMatrix packed = Pack(matrix.view(), pool_);
    std::vector<float> weights(cols);
    DequantizeRow(matrix.type, matrix.Row(0), weights);
    for (const float sign : {1.0F, -1.0F}) {
      const std::vector<float> values(cols, sign * 127.0F);  // code +-127, scale 1
      double expected = 0.0;
      for (const float weight : weights) expected += static_cast<double>(weight) * sign * 127.0;
      for (const Isa isa : SupportedIsas()) {
        ASSERT_TRUE(ForceIsa(isa));
        // Integers below 2^24 add exactly in f32, except where kK16 scales pass it.
        EXPECT_NEAR(Multiply(packed, values, 1, pool_)[5], expected, std::abs(expected) * 1e-6)
            << NameOf(isa) << " fill " << int{fill};
      }
    }
  }
}

TEST_P(MatMulOf, ZeroActivationsGiveZeroAndNonFiniteOnesGiveNaN) {
  const IsaGuard guard;
  const uint32_t cols = Columns().front();
  const PackedMatrix packed = Pack(RandomMatrix(GetParam(), 16, cols, 1).view(), pool_);
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    std::vector<float> values(cols, 0.0F);
    for (const float y : Multiply(packed, values, 1, pool_)) EXPECT_EQ(y, 0.0F);
    for (float& value : values) value = std::numeric_limits<float>::denorm_min();
    if (IsQuantized(GetParam())) {
      for (const float y : Multiply(packed, values, 1, pool_)) EXPECT_EQ(y, 0.0F);
    }
    values[0] = std::numeric_limits<float>::quiet_NaN();
    for (const float y : Multiply(packed, values, 1, pool_)) EXPECT_TRUE(std::isnan(y));
  }
}

TEST_P(MatMulOf, AnyBytesOfAHostileFilePackAndMultiply) {
  const IsaGuard guard;
  const uint32_t cols = Columns().back();
  for (const uint8_t fill : {0xff, 0x7c, 0x7f}) {  // NaN and infinite scales among them
    Matrix matrix = RandomMatrix(GetParam(), 17, cols, 1);
    std::fill(matrix.bytes.begin(), matrix.bytes.end(), static_cast<std::byte>(fill));
    const PackedMatrix packed = Pack(matrix.view(), pool_);
    const auto values = RandomValues(static_cast<size_t>(cols) * 9, 2);
    for (const Isa isa : SupportedIsas()) {
      ASSERT_TRUE(ForceIsa(isa));
      EXPECT_EQ(Multiply(packed, values, 9, pool_).size(), 17U * 9U);
    }
  }
}

TEST_P(MatMulOf, PackingTakesTheBytesOfTheFile) {
  const uint32_t cols = Columns().back();
  const Matrix matrix = RandomMatrix(GetParam(), 64, cols, 1);
  const PackedMatrix packed = Pack(matrix.view(), pool_);
  EXPECT_GE(packed.bytes(), matrix.bytes.size());
  EXPECT_LE(packed.bytes(), matrix.bytes.size() * 101 / 100);
}

TEST_P(MatMulOf, ARowUnpacksToWhatItWasBefore) {
  const Matrix matrix = RandomMatrix(GetParam(), 37, 512, 11);
  ThreadPool pool(1);
  const PackedMatrix packed = Pack(matrix.view(), pool);
  std::vector<float> expected(matrix.cols);
  std::vector<float> row(matrix.cols);
  for (uint32_t i = 0; i < matrix.rows; ++i) {
    DequantizeRow(matrix.type, matrix.Row(i), expected);
    packed.UnpackRow(i, row);
    ASSERT_EQ(std::memcmp(expected.data(), row.data(), row.size() * sizeof(float)), 0) << i;
  }
}

TEST(PackedMatrix, ReportsTheBytesItHasDoneWith) {
  const Matrix matrix = RandomMatrix(WeightType::kF32, 6000, 512, 12);  // 12 MB
  ThreadPool pool(2);
  std::vector<uint64_t> reports;
  Arena arena;
  const PackedMatrix packed = PackedMatrix::Pack(matrix.view(), pool, arena,
                                                 [&](uint64_t done) { reports.push_back(done); });
  ASSERT_EQ(reports.size(), 2U);
  EXPECT_LT(reports[0], reports[1]);
  EXPECT_EQ(reports[1], matrix.bytes.size());
}

TEST(Activations, BlocksHoldCodesScaleAndSumsOfInterleavedRows) {
  // Row 0: 127, 63.5 (halfway between codes 63 and 64: even), -127, then ones; scale 1.
  // Row 1: ten times that.
  std::vector<float> values(64, 1.0F);
  values[0] = 127.0F;
  values[1] = 63.5F;
  values[2] = -127.0F;
  for (size_t i = 0; i < 32; ++i) values[32 + i] = values[i] * 10.0F;
  const IsaGuard guard;
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    ThreadPool pool(1);
    Activations x;
    x.Set(values.data(), 2, 32);
    x.Quantize(pool);
    ASSERT_EQ(x.row_block_count(), 1U);
    ASSERT_EQ(x.RowsOf(0), 2U);
    const ActivationBlock<const std::byte> blocks(x.BlocksOf(0), 0, 2);
    for (size_t row = 0; row < 2; ++row) {
      EXPECT_EQ(blocks.scale[row], row == 0 ? 1.0F : 10.0F);
      EXPECT_EQ(blocks.codes[row * 32 + 0], 127);
      EXPECT_EQ(blocks.codes[row * 32 + 1], 64);
      EXPECT_EQ(blocks.codes[row * 32 + 2], -127);
      EXPECT_EQ(blocks.codes[row * 32 + 31], 1);
      EXPECT_EQ(blocks.minus_low_sum[row], -(127 + 64 - 127 + 13));
      EXPECT_EQ(blocks.minus_sum[row], -(127 + 64 - 127 + 29));
      EXPECT_EQ(blocks.scaled_sum[row], blocks.scale[row] * 93.0F);
    }
  }
}

TEST(Activations, RowBlocksFollowEachOther) {
  ThreadPool pool(1);
  std::vector<float> values(19 * 64, 0.0F);
  for (size_t row = 0; row < 19; ++row) values[row * 64 + 32] = static_cast<float>(row);
  Activations x;
  x.Set(values.data(), 19, 64);
  x.Quantize(pool);
  ASSERT_EQ(x.row_block_count(), 2U);
  EXPECT_EQ(x.RowsOf(1), 3U);
  for (uint32_t row = 0; row < 19; ++row) {
    const uint32_t rows = x.RowsOf(row / 16);
    const ActivationBlock<const std::byte> second(x.BlocksOf(row / 16), 1, rows);
    EXPECT_EQ(second.scale[row % 16], static_cast<float>(row) / 127.0F) << row;
  }
}

TEST(MatMul, WritesOnlyItsOutputsOfAWiderRow) {
  ThreadPool pool(1);
  const Matrix matrix = RandomMatrix(WeightType::kQ8_0, 19, 32, 1);
  const PackedMatrix packed = Pack(matrix.view(), pool);
  const auto values = RandomValues(10 * 32, 1);
  Activations x;
  x.Set(values.data(), 10, 32);
  std::vector<float> y(10 * 24, -7.0F);
  MatMul(packed, x, y.data(), 24, pool);
  for (size_t row = 0; row < 10; ++row) {
    for (size_t i = 0; i < 24; ++i) EXPECT_EQ(y[row * 24 + i] == -7.0F, i >= 19) << row << " " << i;
  }
}

}  // namespace
}  // namespace weir
