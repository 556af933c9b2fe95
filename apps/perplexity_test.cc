#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base_file.h"
#include "token_score.h"

namespace weir {
namespace {

using testing::HasSubstr;

std::string TemporaryPath(const char* name) {
  return testing::TempDir() + "/weir_" + std::to_string(::getpid()) + "_" + name;
}

void WriteBytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

std::vector<uint8_t> ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The example of docs/formats/base-rows.md.
const std::vector<uint8_t> kExample = {
    0x57, 0x45, 0x49, 0x52, 0x52, 0x4f, 0x57, 0x31, 5,    0,    0,    0,    4,    0,    0,    0,
    1,    0,    0,    0,    0,    0,    0,    0,    1,    0,    0,    0,    2,    0,    0,    0,
    3,    0,    0,    0,    4,    0,    0,    0,    0x18, 0x72, 0x31, 0xbf, 2,    0,    0,    0,
    0,    0,    0,    0,    0x18, 0x72, 0x31, 0xbf, 4,    0,    0,    0,    0x18, 0x72, 0x31, 0xbf};

TEST(TokenScore, DivergenceFromItselfIsExactlyZero) {
  std::vector<float> row(5000);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>((i * 7919) % 1000) * 0.02F;
  const SavedRow saved = MakeSavedRow(row, TokenId(17));
  const RowDistance distance = CompareRow(row, TokenId(17), saved);
  EXPECT_EQ(distance.kl, 0.0);
  EXPECT_TRUE(distance.has_same_top);
  EXPECT_EQ(distance.target_logprob, saved.target_logprob);
}

TEST(TokenScore, DivergenceIsThatOfTheDefinition) {
  // p = (0.5, 0.5), q = (0.8, 0.2): 0.5 ln(0.5/0.8) + 0.5 ln(0.5/0.2) = 0.2231436
  const std::vector<float> p = {0, 0};
  const std::vector<float> q = {std::log(0.8F), std::log(0.2F)};
  const RowDistance distance = CompareRow(q, TokenId(1), MakeSavedRow(p, TokenId(1)));
  EXPECT_NEAR(distance.kl, 0.2231436, 1e-6);
  EXPECT_NEAR(distance.target_logprob, std::log(0.2), 1e-6);
  EXPECT_TRUE(distance.has_same_top);  // equals: the smallest id is the top
  const std::vector<float> turned = {q[1], q[0]};
  EXPECT_FALSE(CompareRow(turned, TokenId(1), MakeSavedRow(p, TokenId(1))).has_same_top);
}

TEST(TokenScore, TokensBelowTheBarAreNotListed) {
  const std::vector<float> row = {0, -15.9F, -16.1F, -100};
  const SavedRow saved = MakeSavedRow(row, TokenId(3));
  ASSERT_EQ(saved.listed.size(), 2U);
  EXPECT_EQ(saved.listed[1].token, TokenId(1));
  EXPECT_NEAR(saved.target_logprob, -100, 1e-4);
}

TEST(RunningMean, GivesMeanAndStandardError) {
  RunningMean mean;
  for (const double x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) mean.Add(x);
  EXPECT_DOUBLE_EQ(mean.Mean(), 5.0);
  EXPECT_NEAR(mean.StandardError(), 2.0 / std::sqrt(7.0), 1e-12);  // population deviation 2
}

TEST(BaseFile, IsWrittenAsDocumented) {
  const std::string path = TemporaryPath("example");
  BaseHeader header;
  header.vocab_size = 5;
  header.context_tokens = 4;
  header.window_count = 1;
  header.tokens = {TokenId(1), TokenId(2), TokenId(3), TokenId(4)};
  auto writer = BaseWriter::Create(path, header);
  ASSERT_TRUE(writer);
  const float half = std::log(0.5F);
  ASSERT_TRUE(
      writer->Add({.target_logprob = half, .listed = {{TokenId(0), half}, {TokenId(4), half}}}));
  ASSERT_TRUE(writer->Finish());
  EXPECT_EQ(ReadBytes(path), kExample);

  auto reader = BaseReader::Open(path);
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->header().tokens, header.tokens);
  EXPECT_EQ(reader->header().RowsPerWindow(), 1U);
  const auto row = reader->Next(TokenId(4));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->target_logprob, half);
  EXPECT_EQ(row->listed.size(), 2U);
  EXPECT_FALSE(reader->Next(TokenId(4)));
  std::filesystem::remove(path);
}

TEST(BaseFile, EveryCutAndManyFlipsAreErrorsOrOtherNumbers) {
  const std::string path = TemporaryPath("damaged");
  const auto read = [&](const std::vector<uint8_t>& bytes) {
    WriteBytes(path, bytes);
    auto reader = BaseReader::Open(path);
    return reader && reader->Next(TokenId(4));
  };
  ASSERT_TRUE(read(kExample));
  for (size_t length = 0; length < kExample.size(); ++length) {
    EXPECT_FALSE(read({kExample.begin(), kExample.begin() + static_cast<ptrdiff_t>(length)}));
  }
  for (size_t at = 0; at < kExample.size(); ++at) {
    for (const uint8_t flip : {0x01, 0x80}) {
      std::vector<uint8_t> bytes = kExample;
      bytes[at] ^= flip;
      (void)read(bytes);  // under a sanitizer: no crash, no huge allocation
      EXPECT_TRUE(at >= 8 || !read(bytes)) << at;
    }
  }
  std::filesystem::remove(path);
}

TEST(BaseFile, ReadsRowsOfLlamaPerplexity) {
  // context 4, vocabulary 3 (rows padded to 4 codes), 1 window; log p = 0.001 * code - 10
  std::vector<uint8_t> bytes = {'_', 'l', 'o', 'g', 'i', 't', 's', '_'};
  const auto add = [&](const auto value) {
    std::array<uint8_t, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof(value));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
  };
  for (const int32_t number : {4, 3, 1, 0, 1, 2, 1}) add(number);
  add(0.001F);
  add(-10.0F);
  for (const uint16_t code : {9000, 9500, 0, 0}) add(code);
  const std::string path = TemporaryPath("foreign");
  WriteBytes(path, bytes);
  auto reader = BaseReader::Open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->header().context_tokens, 4U);
  EXPECT_EQ(reader->header().vocab_size, 3U);
  const auto row = reader->Next(TokenId(1));
  ASSERT_TRUE(row);
  EXPECT_NEAR(row->target_logprob, -0.5, 1e-5);
  ASSERT_EQ(row->listed.size(), 3U);
  EXPECT_NEAR(row->listed[0].logprob, -1.0, 1e-5);
  EXPECT_NEAR(row->listed[2].logprob, -10.0, 1e-5);
  std::filesystem::remove(path);
}

TEST(BaseFile, AMissingFileIsNamed) {
  const auto reader = BaseReader::Open("/no/such/rows");
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("/no/such/rows"));
}

}  // namespace
}  // namespace weir
