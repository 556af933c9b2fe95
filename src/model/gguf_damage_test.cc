// Whole small models, cut at every byte, and with every header byte changed in three ways: each is
// an error or loads, none crashes (the address sanitizer build is the judge).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/gguf.h"

namespace weir {
namespace {

// A seed of the fuzzer, written by the gguf package.
std::vector<std::byte> ReadSeed(const std::string& name) {
  const auto path = std::filesystem::path(WEIR_GOLDEN_DIR) / "../fuzz/corpus/gguf" / name;
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(chars.size());
  std::transform(chars.begin(), chars.end(), bytes.begin(), [](char c) { return std::byte(c); });
  return bytes;
}

// Where the first tensor's data begins.
size_t HeaderBytes(const std::vector<std::byte>& bytes) {
  const auto file = GgufFile::FromBytes(bytes, "whole");
  const std::byte* first = file->tensors().front().bytes.data();
  for (const GgufTensor& tensor : file->tensors()) first = std::min(first, tensor.bytes.data());
  return static_cast<size_t>(first - bytes.data());
}

class GgufDamage : public testing::TestWithParam<const char*> {};

TEST_P(GgufDamage, AnyCutIsAnError) {
  const auto whole = ReadSeed(GetParam());
  ASSERT_TRUE(GgufFile::FromBytes(whole, "whole").has_value());
  for (size_t length = 0; length < whole.size(); ++length) {
    // A copy of exactly that many bytes, so that one read past the end is seen.
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    const auto file = GgufFile::FromBytes(cut, "cut");
    if (file) {
      // Only padding after the last tensor may be missing.
      for (const GgufTensor& tensor : file->tensors()) {
        EXPECT_LE(tensor.bytes.data() + tensor.bytes.size(), cut.data() + cut.size());
      }
      EXPECT_GT(length + 32, whole.size());
    } else {
      EXPECT_FALSE(file.error().message.empty());
    }
  }
}

TEST_P(GgufDamage, AnyChangedHeaderByteIsAnErrorOrLoads) {
  auto bytes = ReadSeed(GetParam());
  const size_t header = HeaderBytes(bytes);
  size_t refused = 0;
  for (size_t at = 0; at < header; ++at) {
    for (const unsigned change : {0x01U, 0x80U, 0xFFU}) {
      bytes[at] ^= std::byte(change);
      if (const auto file = GgufFile::FromBytes(bytes, "changed")) {
        refused += ReadModelConfig(*file).has_value() ? 0 : 1;
      } else {
        ++refused;
      }
      bytes[at] ^= std::byte(change);
    }
  }
  EXPECT_GT(refused, header);  // most of a header is lengths, types, names and shapes
}

INSTANTIATE_TEST_SUITE_P(Seeds, GgufDamage,
                         testing::Values("gemma3.gguf", "llama.gguf", "mimo2.gguf"),
                         [](const auto& seed) {
                           const std::string name = seed.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace weir
