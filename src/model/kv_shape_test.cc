#include "model/kv_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/kv_plan.h"
#include "support/gguf_builder.h"

namespace weir {
namespace {

using test::GgufBuilder;
using testing::HasSubstr;

Result<KvShape> Read(const GgufBuilder& builder, uint32_t window = 0) {
  static std::vector<std::byte> bytes;  // outlives the file
  bytes = builder.Bytes();
  const auto file = WEIR_TRY(GgufFile::MetadataFromBytes(bytes, "f"));
  return ReadKvShape(WEIR_TRY(ConfigKeys::Create(file, {.window = window})));
}

// Shape of MiMo-V2.5-Pro as its configuration gives it: 70 layers, of which 10 are full.
GgufBuilder MimoPro() {
  std::vector<uint8_t> pattern(70, 1);
  for (const int full : {0, 7, 15, 23, 31, 39, 47, 55, 62, 69}) pattern[full] = 0;
  GgufBuilder builder;
  builder.String("general.architecture", "mimo2")
      .U32("mimo2.block_count", 70)
      .U32("mimo2.embedding_length", 6144)
      .U32("mimo2.attention.head_count", 128)
      .U32("mimo2.attention.head_count_kv", 8)
      .U32("mimo2.attention.key_length", 192)
      .U32("mimo2.attention.value_length", 128)
      .U32("mimo2.attention.sliding_window", 128)
      .Array<uint8_t>("mimo2.attention.sliding_window_pattern", GgufBuilder::kBool, pattern);
  return builder;
}

TEST(ReadKvShape, TakesAnotherWindowThanTheFiles) {
  GgufBuilder builder = MimoPro();
  builder.U32("mimo2.context_length", 4096);
  const KvShape shape = *Read(builder, 300);
  EXPECT_EQ(shape.window.window, 300U) << "with the own position: not the key's way of counting";
  EXPECT_EQ(shape.full.window, 0U);
  EXPECT_EQ(Read(builder, 4096)->window.window, 4096U);
  const auto longer = Read(builder, 4097);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(longer.error().message,
            "f: a window of 4097 tokens is longer than the model's context of 4096");
}

TEST(ReadKvShape, HasNoOtherWindowForAModelWithout) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama")
      .U32("llama.block_count", 2)
      .U32("llama.context_length", 4096)
      .U32("llama.embedding_length", 64)
      .U32("llama.attention.head_count", 2);
  const auto shape = Read(builder, 100);
  ASSERT_FALSE(shape);
  EXPECT_EQ(shape.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(shape.error().message, HasSubstr("every layer sees all positions"));
}

TEST(PlanKv, GrowsByOneSeventhForMimoPro) {
  const KvLayout layout = LayoutOf(*Read(MimoPro()), KvFormat::kF16);
  ASSERT_EQ(layout.full->layer_count, 10U);
  ASSERT_EQ(layout.window->layer_count, 60U);
  const KvPlan plan = PlanKv(layout, 1 << 20);
  // 8 heads of 192 + 128 in two bytes are 5,120 bytes a token and layer.
  EXPECT_EQ(plan.bytes_per_token, 10U * 5120);
  EXPECT_EQ(plan.all_full_bytes_per_token, 7 * plan.bytes_per_token);
  EXPECT_EQ(plan.full_bytes, uint64_t{10} * 5120 << 20);
  EXPECT_EQ(plan.all_full_bytes, uint64_t{70} * 5120 << 20);
  // W = 129 spans at most two tiles of 128 positions.
  EXPECT_EQ(plan.window_bytes, uint64_t{60} * 5120 * 256);
}

TEST(PlanKv, CostsTheSameAsAllFullInsideTheFirstTile) {
  const KvPlan plan = PlanKv(LayoutOf(*Read(MimoPro()), KvFormat::kF16), 100);
  EXPECT_EQ(plan.total_bytes(), plan.all_full_bytes);
}

TEST(ReadKvShape, KnowsArchitecturesThatDoNotRunYet) {
  // gpt-oss: every other layer has the window, the first one too.
  GgufBuilder builder;
  builder.String("general.architecture", "gpt-oss")
      .U32("gpt-oss.block_count", 24)
      .U32("gpt-oss.embedding_length", 2880)
      .U32("gpt-oss.attention.head_count", 64)
      .U32("gpt-oss.attention.head_count_kv", 8)
      .U32("gpt-oss.attention.key_length", 64)
      .U32("gpt-oss.attention.value_length", 64)
      .U32("gpt-oss.attention.sliding_window", 128);
  const KvShape shape = *Read(builder);
  EXPECT_EQ(shape.full.layer_count, 12U);
  EXPECT_EQ(shape.window.window, 128U);
  EXPECT_EQ(shape.layers[0].group, KvGroupKind::kWindow);
  EXPECT_EQ(shape.layers[1].group, KvGroupKind::kFull);
}

GgufBuilder Plain() {
  GgufBuilder builder;
  builder.String("general.architecture", "new")
      .U32("new.block_count", 3)
      .U32("new.embedding_length", 64)
      .U32("new.attention.head_count", 4);
  return builder;
}

TEST(ReadKvShape, TakesAsManyKvHeadsAsQueryHeadsWhereNothingElseIsSaid) {
  const KvShape shape = *Read(Plain());
  EXPECT_EQ(shape.full.kv_heads, 4U);
  EXPECT_EQ(shape.full.k_dim, 16U);
}

TEST(ReadKvShape, DoesNotGuessWhichLayersHaveTheWindow) {
  GgufBuilder builder = Plain();
  builder.U32("new.attention.sliding_window", 64);
  EXPECT_THAT(Read(builder).error().message,
              HasSubstr("no key 'new.attention.sliding_window_pattern'"));
}

TEST(ReadKvShape, NamesLayersOfAGroupThatDiffer) {
  GgufBuilder builder = Plain();
  builder.Array<int32_t>("new.attention.head_count_kv", GgufBuilder::kI32, {2, 2, 4});
  const Error error = Read(builder).error();
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("layers 0 and 2 both have full attention"));
}

TEST(ReadKvShape, RefusesListsShorterThanTheModelAndNegativeHeads) {
  GgufBuilder few = Plain();
  few.Array<int32_t>("new.attention.head_count_kv", GgufBuilder::kI32, {2, 2});
  EXPECT_THAT(Read(few).error().message, HasSubstr("2 elements for 3 layers"));
  GgufBuilder negative = Plain();
  negative.Array<int32_t>("new.attention.head_count_kv", GgufBuilder::kI32, {2, 2, -2});
  EXPECT_THAT(Read(negative).error().message, HasSubstr("-2 for layer 2"));
}

TEST(ReadKvShape, RefusesStateThatIsNotRowsOfHeads) {
  GgufBuilder builder = Plain();
  builder.U32("new.attention.kv_lora_rank", 512);
  EXPECT_EQ(Read(builder).error().code, ErrorCode::kUnsupported);
}

TEST(ReadKvShape, RefusesRowsBeyondAnyModel) {
  GgufBuilder builder;
  builder.String("general.architecture", "new")
      .U32("new.block_count", 1024)
      .U32("new.embedding_length", 64)
      .U32("new.attention.head_count", 4096)
      .U32("new.attention.key_length", 8192)
      .U32("new.attention.value_length", 8192);
  EXPECT_EQ(Read(builder).error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace weir
