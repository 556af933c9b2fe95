#include "model/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/gguf_builder.h"

namespace weir {
namespace {

using test::GgufBuilder;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kGgmlF32 = 0;
constexpr uint32_t kGgmlQ3K = 11;
constexpr uint32_t kGgmlQ4K = 12;

// Reads a file that must be refused, and returns why.
Error Refused(const GgufBuilder& builder) {
  const auto bytes = builder.Bytes();
  const auto file = GgufFile::FromBytes(bytes, "f");
  EXPECT_FALSE(file.has_value());
  return file ? Error{} : file.error();
}

TEST(GgufFile, GivesNumbersOfAnyWidthThatHoldsThem) {
  GgufBuilder builder;
  builder.U32("a", 7).U64("b", std::numeric_limits<uint64_t>::max()).I32("c", -1).I32("d", 5);
  const auto bytes = builder.Bytes();
  const GgufFile file = *GgufFile::FromBytes(bytes, "f");
  EXPECT_EQ(*file.Unsigned("a"), 7U);
  EXPECT_EQ(*file.Unsigned("b"), std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(file.Unsigned("c").error().message, HasSubstr("negative"));
  EXPECT_EQ(*file.Unsigned("d"), 5U);
}

TEST(GgufFile, TellsAbsentFromWrongType) {
  GgufBuilder builder;
  builder.String("text", "x").F32("float", 1.5F).Bool("yes", 1);
  const auto bytes = builder.Bytes();
  const GgufFile file = *GgufFile::FromBytes(bytes, "f");
  EXPECT_FALSE(file.Has("nothing"));
  EXPECT_EQ(*file.Unsigned("nothing"), std::nullopt);
  EXPECT_TRUE(file.Strings("nothing")->empty());
  EXPECT_EQ(file.Unsigned("text").error().message, "f: key 'text' is string, not an integer");
  EXPECT_EQ(file.Unsigned("float").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(file.Float("yes").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(*file.Float("float"), 1.5);
  EXPECT_EQ(*file.Bool("yes"), true);
  EXPECT_EQ(*file.String("text"), "x");
}

TEST(GgufFile, GivesArrays) {
  GgufBuilder builder;
  builder.Strings("words", {"a", "", "\xE2\x82\xAC"})
      .Array<float>("scores", GgufBuilder::kF32, {0.5F, -1.0F})
      .Array<uint8_t>("flags", GgufBuilder::kBool, {0, 1, 1})
      .Array<int32_t>("heads", GgufBuilder::kI32, {2, -4});
  const auto bytes = builder.Bytes();
  const GgufFile file = *GgufFile::FromBytes(bytes, "f");
  EXPECT_THAT(*file.Strings("words"), ElementsAre("a", "", "\xE2\x82\xAC"));
  EXPECT_THAT(*file.Floats("scores"), ElementsAre(0.5, -1.0));
  EXPECT_THAT(*file.Integers("flags"), ElementsAre(0, 1, 1));
  EXPECT_THAT(*file.Integers("heads"), ElementsAre(2, -4));
  EXPECT_EQ(file.ArrayCount("words"), 3U);
  EXPECT_THAT(file.Floats("words").error().message, HasSubstr("an array of string"));
  EXPECT_THAT(file.Unsigned("heads").error().message, HasSubstr("an array of i32"));
}

TEST(GgufFile, DescribesValuesInOneLineEach) {
  GgufBuilder builder;
  builder.String("text", "two\nlines")
      .F32("nan", std::nanf(""))
      .Array<int32_t>("many", GgufBuilder::kI32, {1, 2, 3, 4, 5})
      .String("long", std::string(500, 'x'));
  const auto bytes = builder.Bytes();
  const auto texts = GgufFile::FromBytes(bytes, "f")->Describe(3);
  ASSERT_EQ(texts.size(), 4U);
  EXPECT_EQ(texts[0].text, "'two\\nlines'");
  EXPECT_EQ(texts[1].text, "nan");
  EXPECT_EQ(texts[2].text, "[1, 2, 3, ...] (5 i32)");
  EXPECT_LT(texts[3].text.size(), 100U);
}

TEST(GgufFile, FindsTensorsAtTheirBytes) {
  GgufBuilder builder;
  builder.F32Tensor("a", {3}).F32Tensor("b", {2, 2});
  builder.data()[32] = 'B';  // the second tensor begins at the next multiple of 32
  const auto bytes = builder.Bytes();
  const GgufFile file = *GgufFile::FromBytes(bytes, "f");
  const GgufTensor* b = file.FindTensor("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(file.FindTensor("a")->bytes.size(), 12U);
  EXPECT_THAT(b->shape, ElementsAre(2, 2));
  EXPECT_EQ(b->bytes.size(), 16U);
  EXPECT_EQ(b->bytes[0], std::byte{'B'});
  EXPECT_EQ(file.FindTensor("c"), nullptr);
}

TEST(GgufFile, ReadsMetadataAloneOfFilesWhoseTensorsItCannotUse) {
  GgufBuilder builder;
  builder.U32("n", 1).Tensor("w", {256, 1}, kGgmlQ3K, 110);
  const auto bytes = builder.Bytes();
  EXPECT_FALSE(GgufFile::FromBytes(bytes, "f").has_value());
  const auto file = GgufFile::MetadataFromBytes(bytes, "f");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(*file->Unsigned("n"), 1U);
  EXPECT_TRUE(file->tensors().empty());
}

TEST(GgufFile, RefusesForeignFilesSayingWhatTheyBeginWith) {
  GgufBuilder builder;
  builder.magic = "PK\x03\x04";
  EXPECT_THAT(Refused(builder).message,
              HasSubstr("not a GGUF file: it begins with the bytes 504b0304"));
}

TEST(GgufFile, RefusesOtherVersionsAndByteOrders) {
  GgufBuilder builder;
  builder.version = 1;
  EXPECT_EQ(Refused(builder).code, ErrorCode::kUnsupported);
  builder.version = 0x03000000;  // 3 in the other byte order
  EXPECT_THAT(Refused(builder).message, HasSubstr("big-endian"));
  builder.version = 77;
  EXPECT_THAT(Refused(builder).message, HasSubstr("version 77"));
  builder.version = 2;
  const auto bytes = builder.Bytes();
  EXPECT_TRUE(GgufFile::FromBytes(bytes, "f").has_value());
}

TEST(GgufFile, RefusesSplitModels) {
  GgufBuilder builder;
  builder.U32("split.count", 3);
  EXPECT_EQ(Refused(builder).code, ErrorCode::kUnsupported);
  EXPECT_THAT(Refused(builder).message, HasSubstr("3 parts"));
}

TEST(GgufFile, NamesTensorAndTypeThatItCannotComputeWith) {
  GgufBuilder builder;
  builder.Tensor("blk.0.ffn_up.weight", {256, 1}, kGgmlQ3K, 110);
  const Error error = Refused(builder);
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_THAT(error.message, HasSubstr("'blk.0.ffn_up.weight' has the type Q3_K (ggml type 11)"));
  GgufBuilder unknown;
  unknown.Tensor("w", {32}, 999, 32);
  EXPECT_THAT(Refused(unknown).message, HasSubstr("ggml type 999"));
}

TEST(GgufFile, RefusesCountsThatTheFileCannotHold) {
  GgufBuilder tensors;
  tensors.tensor_count = uint64_t{1} << 60;
  EXPECT_THAT(Refused(tensors).message, HasSubstr("promises 1152921504606846976 tensors"));
  GgufBuilder keys;
  keys.key_count = std::numeric_limits<uint64_t>::max();
  EXPECT_THAT(Refused(keys).message, HasSubstr("keys"));
  GgufBuilder array;  // 2^61 + 1 elements of 8 bytes are 8 bytes, modulo 2^64
  std::string raw;
  GgufBuilder::Number(raw, uint32_t{GgufBuilder::kU64});
  GgufBuilder::Number(raw, (uint64_t{1} << 61) + 1);
  GgufBuilder::Number(raw, uint64_t{0});
  array.Raw("a", GgufBuilder::kArray, raw);
  EXPECT_THAT(Refused(array).message, HasSubstr("the file ends inside 'a'"));
}

TEST(GgufFile, RefusesArraysNestedTooDeep) {
  std::string raw;
  for (int depth = 0; depth < 1000; ++depth) {
    GgufBuilder::Number(raw, uint32_t{GgufBuilder::kArray});
    GgufBuilder::Number(raw, uint64_t{1});
  }
  GgufBuilder builder;
  builder.Raw("deep", GgufBuilder::kArray, raw);
  EXPECT_THAT(Refused(builder).message, HasSubstr("'deep' nests arrays"));
}

TEST(GgufFile, RefusesKeysAndTensorsListedTwice) {
  GgufBuilder keys;
  keys.U32("k", 1).U32("k", 2);
  EXPECT_THAT(Refused(keys).message, HasSubstr("key 'k' is there twice"));
  GgufBuilder tensors;
  tensors.F32Tensor("t", {8}).F32Tensor("t", {8});
  EXPECT_THAT(Refused(tensors).message, HasSubstr("tensor 't' is listed twice"));
}

TEST(GgufFile, RefusesValuesThatAreNoBoolAndTypesThatDoNotExist) {
  GgufBuilder two;
  two.Bool("b", 2);
  EXPECT_THAT(Refused(two).message, HasSubstr("neither 0 nor 1"));
  GgufBuilder type;
  type.Raw("k", 13, "xxxx");
  EXPECT_THAT(Refused(type).message, HasSubstr("key 'k' has the unknown type 13"));
}

TEST(GgufFile, RefusesShapesThatMakeNoWholeRows) {
  GgufBuilder cols;
  cols.Tensor("t", {255, 2}, kGgmlQ4K, 288);
  EXPECT_THAT(Refused(cols).message, HasSubstr("rows of 255 elements"));
  GgufBuilder zero;
  zero.Tensor("t", {4, 0}, kGgmlF32, 0);
  EXPECT_THAT(Refused(zero).message, HasSubstr("dimension 1 is 0"));
  GgufBuilder none;
  none.Tensor("t", {}, kGgmlF32, 4);
  EXPECT_THAT(Refused(none).message, HasSubstr("0 dimensions"));
  GgufBuilder product;  // 2^62 * 4 * 4 bytes overflow
  product.Tensor("t", {uint64_t{1} << 62, 4}, kGgmlF32, 64);
  EXPECT_THAT(Refused(product).message, HasSubstr("beyond 64 bits"));
}

TEST(GgufFile, RefusesTensorsOutsideOfTheData) {
  GgufBuilder beyond;
  beyond.Tensor("t", {8}, kGgmlF32, 32, 64);
  EXPECT_THAT(Refused(beyond).message, HasSubstr("tensor 't': 32 bytes at data offset 64"));
  GgufBuilder wraps;
  wraps.Tensor("t", {8}, kGgmlF32, 32, std::numeric_limits<uint64_t>::max() - 31);
  EXPECT_THAT(Refused(wraps).message, HasSubstr("lie beyond"));
  GgufBuilder crooked;
  crooked.Tensor("t", {2}, kGgmlF32, 64, 8);
  EXPECT_THAT(Refused(crooked).message, HasSubstr("no multiple of the file's alignment 32"));
  GgufBuilder overlap;
  overlap.F32Tensor("a", {16}).Tensor("b", {8}, kGgmlF32, 32, 32);
  EXPECT_THAT(Refused(overlap).message, HasSubstr("tensor 'b': its bytes overlap"));
}

TEST(GgufFile, HonoursTheFilesAlignment) {
  GgufBuilder builder;
  builder.alignment = 64;
  builder.U32("general.alignment", 64).F32Tensor("a", {1}).F32Tensor("b", {1});
  builder.data()[64] = 'B';
  const auto bytes = builder.Bytes();
  const auto file = GgufFile::FromBytes(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->FindTensor("b")->bytes[0], std::byte{'B'});
  for (const uint32_t wrong : {0U, 1U, 24U, 1U << 31}) {
    GgufBuilder bad;
    bad.U32("general.alignment", wrong);
    EXPECT_THAT(Refused(bad).message, HasSubstr("general.alignment"));
  }
}

TEST(GgufFile, KeepsMessagesInOneLineWhateverTheNames) {
  GgufBuilder builder;
  builder.Tensor("evil\nname\x1b[31m" + std::string(5000, 'x'), {1}, 999, 4);
  const std::string message = Refused(builder).message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
  EXPECT_LT(message.size(), 400U);
}

}  // namespace
}  // namespace weir
