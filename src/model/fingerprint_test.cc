#include "model/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "support/gguf_builder.h"
#include "support/model_runner.h"

namespace weir {
namespace {

using test::GgufBuilder;
using testing::OrStop;

// A model of one full and one window layer, with a tensor of 100 and one of 1,000 floats.
GgufBuilder Small(const char* name = "small", const char* tensor = "a") {
  GgufBuilder builder;
  builder.String("general.architecture", "gemma3")
      .String("general.name", name)
      .U32("gemma3.block_count", 2)
      .U32("gemma3.context_length", 1024)
      .U32("gemma3.embedding_length", 64)
      .U32("gemma3.feed_forward_length", 128)
      .U32("gemma3.attention.head_count", 4)
      .U32("gemma3.attention.sliding_window", 48)
      .U32("gemma3.attention.sliding_window_pattern", 2)
      .F32Tensor("token_embd.weight", {64, 100})
      .F32Tensor(tensor, {60});
  return builder;
}

std::string FingerprintOf(const GgufBuilder& builder, const ConfigOverrides& overrides = {}) {
  const auto bytes = builder.Bytes();
  const GgufFile file = OrStop(GgufFile::FromBytes(bytes, "f"));
  const ModelConfig config = OrStop(ReadModelConfig(file, overrides));
  return Fingerprint(file, config, config.Layout(KvFormat::kF16), Isa::kScalar);
}

TEST(Fingerprint, IsTheSameForTheSameAndHas32HexDigits) {
  const std::string one = FingerprintOf(Small());
  EXPECT_EQ(one, FingerprintOf(Small()));
  EXPECT_THAT(one, ::testing::MatchesRegex("[0-9a-f]{32}"));
}

TEST(Fingerprint, ChangesWithTheFile) {
  std::set<std::string> seen = {FingerprintOf(Small())};
  const auto is_new = [&](const GgufBuilder& builder) {
    return seen.insert(FingerprintOf(builder)).second;
  };
  EXPECT_TRUE(is_new(Small("other"))) << "metadata";
  EXPECT_TRUE(is_new(Small("small", "b"))) << "tensor name";
  // The first, some middle and the last bytes of a large tensor; every byte of a small one.
  const size_t large = size_t{64} * 100 * 4;
  const size_t step = (large - 64) / 3;
  for (const size_t at : {size_t{0}, size_t{63}, step, step + 63, 2 * step, large - 64, large - 1,
                          large, large + 100, large + 239}) {
    GgufBuilder builder = Small();
    builder.data()[at] = 1;
    EXPECT_TRUE(is_new(builder)) << "byte " << at << " of the data";
  }
}

TEST(Fingerprint, ChangesWithAnotherWindow) {
  EXPECT_NE(FingerprintOf(Small()), FingerprintOf(Small(), {.window = 49}));
  EXPECT_EQ(FingerprintOf(Small()), FingerprintOf(Small(), {.window = 48}));
}

TEST(Fingerprint, ChangesWithEverythingThatCanChangeABit) {
  const auto bytes = Small().Bytes();
  const GgufFile file = OrStop(GgufFile::FromBytes(bytes, "f"));
  const ModelConfig config = OrStop(ReadModelConfig(file));
  const KvLayout layout = config.Layout(KvFormat::kF16);
  std::set<std::string> seen = {Fingerprint(file, config, layout, Isa::kScalar)};

  EXPECT_TRUE(seen.insert(Fingerprint(file, config, layout, Isa::kAvx2)).second);
  const std::vector<std::function<void(ModelConfig&)>> config_changes = {
      [](ModelConfig& c) { c.norm_epsilon *= 2; },
      [](ModelConfig& c) { c.embedding_scale *= 2; },
      [](ModelConfig& c) { c.value_scale *= 2; },
      [](ModelConfig& c) { c.logit_softcap = 30; },
      [](ModelConfig& c) { c.activation = Activation::kSilu; },
      [](ModelConfig& c) { c.has_post_norms = !c.has_post_norms; },
      [](ModelConfig& c) { c.has_qk_norm = !c.has_qk_norm; },
      [](ModelConfig& c) { c.experts = ExpertSpec{.count = 4}; },
      [](ModelConfig& c) { c.layers[0].has_experts = true; },
      [](ModelConfig& c) { std::swap(c.layers[0].kv, c.layers[1].kv); },
      [](ModelConfig& c) { c.full->score_scale *= 2; },
      [](ModelConfig& c) { c.full->softcap = 50; },
      [](ModelConfig& c) { c.full->rope.base *= 2; },
      [](ModelConfig& c) { c.full->rope.position_scale = 0.5F; },
      [](ModelConfig& c) { c.full->rope.dims = 8; },
      [](ModelConfig& c) { c.full->rope.pairing = RopePairing::kInterleaved; },
      [](ModelConfig& c) {
        c.full->rope.frequency_divisors = {1, 2};
      },
      [](ModelConfig& c) { c.window->window += 1; },
      [](ModelConfig& c) { c.window->softcap = 50; },
      [](ModelConfig& c) { c.window->rope.base *= 2; },
      [](ModelConfig& c) { c.window.reset(); }};
  for (size_t i = 0; i < config_changes.size(); ++i) {
    ModelConfig changed = config;
    config_changes[i](changed);
    EXPECT_TRUE(seen.insert(Fingerprint(file, changed, layout, Isa::kScalar)).second) << i;
  }
  const TileCodec codec{.name = "test", .residual_tiles = 0};
  const TileCodec with_residual{.name = "test", .residual_tiles = 1};
  const std::vector<std::function<void(KvLayout&)>> layout_changes = {
      [](KvLayout& l) { l.full->format = KvFormat::kF32; },
      [](KvLayout& l) { l.window->format = KvFormat::kF32; },
      [&](KvLayout& l) { l.full->codec = &codec; },
      [&](KvLayout& l) { l.full->codec = &with_residual; }};
  for (size_t i = 0; i < layout_changes.size(); ++i) {
    KvLayout changed = layout;
    layout_changes[i](changed);
    EXPECT_TRUE(seen.insert(Fingerprint(file, config, changed, Isa::kScalar)).second) << i;
  }
}

TEST(Fingerprint, TellsRealFilesApartAndIsStableOverLoads) {
  std::set<std::string> seen;
  for (const char* name : {"gemma3-w48-seed1", "gemma3-w128-seed2", "gemma3-scaled-seed3",
                           "llama-tied-seed2", "mimo2-w41-seed1"}) {
    std::string last;
    for (int load = 0; load < 2; ++load) {
      const GgufFile file =
          OrStop(GgufFile::Open(testing::GoldenModelPath(std::string(name) + ".gguf")));
      const ModelConfig config = OrStop(ReadModelConfig(file));
      const std::string fingerprint =
          Fingerprint(file, config, config.Layout(KvFormat::kF16), Isa::kScalar);
      EXPECT_EQ(fingerprint, load == 0 ? fingerprint : last);
      last = fingerprint;
    }
    EXPECT_TRUE(seen.insert(last).second) << name;
  }
}

}  // namespace
}  // namespace weir
