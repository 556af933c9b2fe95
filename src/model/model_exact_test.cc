// Logits that must not depend, bit for bit, on chunks, threads, batches or what a cache held
// before.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "simd/isa.h"
#include "support/model_runner.h"

namespace weir {
namespace {

using testing::GoldenModelPath;
using testing::ModelRunner;
using testing::OrStop;

// Beyond ten tiles and one split of 1,024 positions.
constexpr uint32_t kTokens = 1180;

std::vector<TokenId> RandomTokens(uint32_t count, uint32_t seed, uint32_t vocab_size) {
  std::mt19937 generator(seed);
  std::vector<TokenId> tokens;
  for (uint32_t i = 0; i < count; ++i) {
    tokens.emplace_back(static_cast<int32_t>(generator() % vocab_size));
  }
  return tokens;
}

// The first row that differs, or -1.
int64_t FirstDifferentRow(std::span<const float> a, std::span<const float> b, size_t columns) {
  if (a.size() != b.size()) return 0;
  for (size_t i = 0; i < a.size(); i += columns) {
    if (std::memcmp(&a[i], &b[i], columns * sizeof(float)) != 0) {
      return static_cast<int64_t>(i / columns);
    }
  }
  return -1;
}

class ModelExact : public ::testing::TestWithParam<const char*> {
 protected:
  static std::string path() { return GoldenModelPath(std::string(GetParam()) + ".gguf"); }
};

TEST_P(ModelExact, LogitsDependNeitherOnChunksNorOnThreads) {
  const std::vector<std::vector<uint32_t>> every_way = {
      {2048}, {1}, {7}, {64}, {127}, {128}, {512}, {900, 1, 129, 1, 1, 2}};
  const std::vector<std::vector<uint32_t>> some_ways = {{2048}, {64}, {900, 1, 129, 1, 1, 2}};
  std::vector<float> expected;
  for (const uint32_t threads : {1U, 2U, 3U, 8U}) {
    ModelRunner runner(path(), {.threads = threads});
    const auto tokens = RandomTokens(kTokens, 1, runner.vocab_size());
    for (const auto& chunks : threads == 1 ? every_way : some_ways) {
      const std::vector<float> logits = runner.Logits(tokens, chunks);
      if (expected.empty()) expected = logits;
      EXPECT_EQ(FirstDifferentRow(expected, logits, runner.vocab_size()), -1)
          << threads << " threads, chunks of " << chunks.front();
    }
  }
}

TEST_P(ModelExact, ASequenceGivesTheSameAloneAndBesideAnother) {
  ModelRunner runner(path(), {.threads = 2, .sequences = 2});
  const auto long_tokens = RandomTokens(700, 2, runner.vocab_size());
  const auto short_tokens = RandomTokens(150, 3, runner.vocab_size());
  const std::vector<uint32_t> whole = {2048};
  const auto long_alone = runner.Logits(long_tokens, whole);
  const auto short_alone = runner.Logits(short_tokens, whole);

  // The long one reads a prompt while the short one decodes.
  SequenceView long_view(runner.cache());
  SequenceView short_view(runner.cache());
  std::vector<float> long_logits;
  std::vector<float> short_logits;
  for (uint32_t i = 0, read = 0; i < short_tokens.size(); ++i) {
    const uint32_t count = std::min<uint32_t>(5, static_cast<uint32_t>(long_tokens.size()) - read);
    KvChunk short_chunk = OrStop(short_view.BeginChunk(1));
    std::vector<ForwardSegment> segments = {{.chunk = &short_chunk,
                                             .tokens = std::span(short_tokens).subspan(i, 1),
                                             .logits = LogitsWanted::kAll}};
    std::vector<KvChunk> long_chunk;
    if (count > 0) {
      long_chunk.push_back(OrStop(long_view.BeginChunk(count)));
      segments.insert(segments.begin(), {.chunk = &long_chunk.front(),
                                         .tokens = std::span(long_tokens).subspan(read, count),
                                         .logits = LogitsWanted::kAll});
    }
    const auto rows = runner.model().Forward(segments);
    const size_t long_count = size_t{count} * runner.vocab_size();
    long_logits.insert(long_logits.end(), rows.begin(), rows.begin() + long_count);
    short_logits.insert(short_logits.end(), rows.begin() + long_count, rows.end());
    short_view.Commit(std::move(short_chunk));
    if (count > 0) long_view.Commit(std::move(long_chunk.front()));
    read += count;
  }
  EXPECT_EQ(FirstDifferentRow(long_alone, long_logits, runner.vocab_size()), -1);
  EXPECT_EQ(FirstDifferentRow(short_alone, short_logits, runner.vocab_size()), -1);
}

TEST_P(ModelExact, OnlyWantedRowsComeBackInSegmentOrder) {
  ModelRunner runner(path(), {.sequences = 3});
  const auto tokens = RandomTokens(20, 4, runner.vocab_size());
  const std::vector<uint32_t> whole = {2048};
  const auto expected = runner.Logits(tokens, whole);
  const size_t vocab = runner.vocab_size();

  std::vector<SequenceView> views;
  std::vector<KvChunk> chunks;
  for (int i = 0; i < 3; ++i) views.emplace_back(runner.cache());
  for (SequenceView& view : views) chunks.push_back(OrStop(view.BeginChunk(20)));
  const std::vector<ForwardSegment> segments = {
      {.chunk = &chunks[0], .tokens = tokens, .logits = LogitsWanted::kLast},
      {.chunk = &chunks[1], .tokens = tokens, .logits = LogitsWanted::kNone},
      {.chunk = &chunks[2], .tokens = tokens, .logits = LogitsWanted::kAll}};
  const auto rows = runner.model().Forward(segments);
  ASSERT_EQ(rows.size(), 21 * vocab);
  EXPECT_EQ(FirstDifferentRow(std::span(expected).last(vocab), rows.first(vocab), vocab), -1);
  EXPECT_EQ(FirstDifferentRow(expected, rows.subspan(vocab), vocab), -1);
  for (int i = 0; i < 3; ++i) views[i].Commit(std::move(chunks[i]));
}

TEST_P(ModelExact, EveryInstructionSetGivesTheSameBits) {
  const Isa chosen = ChosenIsa();
  std::vector<float> expected;
  for (const Isa isa : SupportedIsas()) {
    ASSERT_TRUE(ForceIsa(isa));
    ModelRunner runner(path(), {.threads = 2});
    const auto tokens = RandomTokens(300, 5, runner.vocab_size());
    const std::vector<uint32_t> chunks = {128, 1, 7};
    const std::vector<float> logits = runner.Logits(tokens, chunks);
    if (expected.empty()) expected = logits;
    EXPECT_EQ(FirstDifferentRow(expected, logits, runner.vocab_size()), -1) << NameOf(isa);
  }
  ASSERT_TRUE(ForceIsa(chosen));
}

// The bytes of a file with another number under a key of type U32.
std::vector<std::byte> WithNumber(const std::string& path, std::string_view key, uint32_t number) {
  std::ifstream in(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(in), {});
  std::string needle(sizeof(uint64_t), '\0');  // a key stands behind its length, before its type
  const uint64_t length = key.size();
  std::memcpy(needle.data(), &length, sizeof(length));
  needle += key;
  const size_t at = text.find(needle);
  EXPECT_NE(at, std::string::npos);
  std::memcpy(text.data() + at + needle.size() + sizeof(uint32_t), &number, sizeof(number));
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

TEST(OverriddenWindow, GivesTheLogitsOfAFileThatSaysSo) {
  const std::string path = GoldenModelPath("gemma3-w48-seed1.gguf");
  const std::vector<std::byte> patched = WithNumber(path, "gemma3.attention.sliding_window", 131);
  const GgufFile said = OrStop(GgufFile::FromBytes(patched, "patched"));
  const GgufFile file = OrStop(GgufFile::Open(path));
  const auto logits_of = [](const GgufFile& model, const ConfigOverrides& overrides) {
    ModelRunner runner(model, {}, overrides);
    const std::vector<uint32_t> chunks = {200, 1, 64};
    return runner.Logits(RandomTokens(400, 6, runner.vocab_size()), chunks);
  };
  const auto expected = logits_of(said, {});
  const size_t columns = expected.size() / 400;
  EXPECT_EQ(FirstDifferentRow(expected, logits_of(file, {.window = 131}), columns), -1);
  EXPECT_EQ(FirstDifferentRow(expected, logits_of(file, {}), columns), 48)
      << "row 48 is the first that misses a key of a window of 48";
}

INSTANTIATE_TEST_SUITE_P(All, ModelExact,
                         ::testing::Values("gemma3-w128-seed2", "gemma3-scaled-seed3",
                                           "llama-tied-seed2", "llama-ropefreqs-seed3",
                                           "mimo2-w41-seed1"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weir
