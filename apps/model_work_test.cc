#include "model_work.h"

#include <gtest/gtest.h>

#include "bench_roofline.h"
#include "support/model_runner.h"

namespace weir {
namespace {

// Every sixth of 8 layers is full: 7 window layers (W = 48) and 1 full, each with 2 KV
// heads of 16.
TEST(ModelWork, KvGrowsWithFullLayersAlonePastTheWindow) {
  const auto file =
      testing::OrStop(GgufFile::Open(testing::GoldenModelPath("gemma3-w48-seed1.gguf")));
  const ModelWork work = WorkOf(file, testing::OrStop(ReadModelConfig(file)));
  const double layer_key = 2 * (16 + 16) * 2;  // heads, K and V, f16
  EXPECT_DOUBLE_EQ(work.KvBytes(0), 8 * layer_key);
  EXPECT_DOUBLE_EQ(work.KvBytes(47), 48 * 8 * layer_key);
  EXPECT_DOUBLE_EQ(work.KvBytes(999), (1000 * 1 + 48 * 7) * layer_key);
  // 4 query heads, 16 products and sums for q . k and 16 for p v.
  EXPECT_DOUBLE_EQ(work.AttentionOps(999), (1000 * 1 + 48 * 7) * 4.0 * (16 + 16) * 2);
}

TEST(ModelWork, ATiedEmbeddingIsReadAsHeadAndALoneOneIsNot) {
  const uint64_t embedding_bytes = 266 * 32 * 4;
  for (const auto& [name, lone_bytes] : std::vector<std::pair<const char*, uint64_t>>{
           {"llama-tied-seed2.gguf", 0}, {"llama-untied-seed1.gguf", embedding_bytes}}) {
    const auto file = testing::OrStop(GgufFile::Open(testing::GoldenModelPath(name)));
    uint64_t all_bytes = 0;
    for (const GgufTensor& tensor : file.tensors()) all_bytes += tensor.bytes.size();
    const ModelWork work = WorkOf(file, testing::OrStop(ReadModelConfig(file)));
    EXPECT_DOUBLE_EQ(work.WeightBytes(1), static_cast<double>(all_bytes - lone_bytes)) << name;
    EXPECT_EQ(work.layer_int8_ops + work.head_int8_ops, 0U) << "F32 weights: no int8";
  }
}

// 6 layers of 5 experts, 3 matrices of 16 x 32 floats each; a row uses 2.
TEST(ModelWork, ARowReadsTheExpertsItUsesAndManyRowsAllOfThem) {
  const auto file =
      testing::OrStop(GgufFile::Open(testing::GoldenModelPath("mimo2-w41-seed1.gguf")));
  const ModelWork work = WorkOf(file, testing::OrStop(ReadModelConfig(file)));
  const double expert = 3 * 16 * 32 * 4;
  const double others = work.WeightBytes(0);
  const double layers = static_cast<double>(work.expert_bytes) / (5 * expert);
  EXPECT_EQ(layers, 6);
  EXPECT_DOUBLE_EQ(work.WeightBytes(1), others + layers * 2 * expert);
  EXPECT_DOUBLE_EQ(work.WeightBytes(2), others + layers * 4 * expert);
  EXPECT_DOUBLE_EQ(work.WeightBytes(8), others + layers * 5 * expert);
}

ModelWork SmallWork() {
  ModelWork work{.dense_bytes = 1000, .layer_int8_ops = 500, .head_int8_ops = 4000};
  work.layout.full = KvGroup{.layer_count = 1, .kv_heads = 1, .k_dim = 1, .v_dim = 1};
  work.full_q_heads = 3;
  return work;  // 4 bytes of KV and 12 operations a key
}

const MachineLimits kLimits{.one_thread = {.read_bytes_per_s = 1e4, .int8_ops_per_s = 1e5},
                            .all_threads = {.read_bytes_per_s = 2e4, .int8_ops_per_s = 1.5e5},
                            .instruction = "one"};

TEST(Roofline, DecodeReadsWeightsOnceAStepAndEverySequencesKv) {
  // Two tokens at depth 9: 10 and 11 keys, 42 bytes in the mean; weights shared by 4 sequences.
  const Roofline roofline =
      HoldAgainst(kLimits, SmallWork(), {.answer_tokens = 2, .depth = 9, .sequence_count = 4}, 20);
  ASSERT_TRUE(roofline.read);
  EXPECT_DOUBLE_EQ(roofline.read->per_token, 1000.0 / 4 + 42);
  EXPECT_DOUBLE_EQ(roofline.read->OfLimit(), 20 * 292 / 2e4);
  EXPECT_FALSE(roofline.int8);
}

TEST(Roofline, PrefillMultipliesLayersForEachTokenAndTheHeadOnce) {
  const Roofline roofline = HoldAgainst(kLimits, SmallWork(), {.prompt_tokens = 8}, 100);
  ASSERT_TRUE(roofline.int8);
  EXPECT_DOUBLE_EQ(roofline.int8->per_token, 500 + 4000.0 / 8);
  EXPECT_DOUBLE_EQ(roofline.int8->OfLimit(), 100 * 1000 / 1.5e5);
  EXPECT_DOUBLE_EQ(roofline.attention_ops_per_token, 12 * 4.5);  // 1..8 keys
  EXPECT_FALSE(roofline.read);
}

TEST(Roofline, AMixedRowHasNoOneLimit) {
  const Roofline roofline =
      HoldAgainst(kLimits, SmallWork(), {.prompt_tokens = 8, .answer_tokens = 2}, 100);
  EXPECT_FALSE(roofline.read);
  EXPECT_FALSE(roofline.int8);
}

TEST(MachineLimits, AllThreadsReachSomethingOnThisPath) {
  ThreadPool threads(2);
  const MachineLimits limits = MeasureLimits(threads, 0);
  for (const MachineRates& rates : {limits.one_thread, limits.all_threads}) {
    EXPECT_GT(rates.read_bytes_per_s, 0);
    EXPECT_GT(rates.int8_ops_per_s, 0);
  }
  EXPECT_FALSE(limits.instruction.empty());
}

}  // namespace
}  // namespace weir
