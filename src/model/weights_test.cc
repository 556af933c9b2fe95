#include "model/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "support/gguf_builder.h"

namespace weir {
namespace {

using test::GgufBuilder;
using ::testing::HasSubstr;

using Tensors = std::map<std::string, std::vector<uint64_t>>;

// One layer, hidden 32, two query heads and one KV head of 16, ffn 48, 40 tokens.
Tensors OneLayer() {
  return {{"token_embd.weight", {32, 40}},   {"output.weight", {32, 40}},
          {"output_norm.weight", {32}},      {"blk.0.attn_norm.weight", {32}},
          {"blk.0.attn_q.weight", {32, 32}}, {"blk.0.attn_k.weight", {32, 16}},
          {"blk.0.attn_v.weight", {32, 16}}, {"blk.0.attn_output.weight", {32, 32}},
          {"blk.0.ffn_norm.weight", {32}},   {"blk.0.ffn_gate.weight", {32, 48}},
          {"blk.0.ffn_up.weight", {32, 48}}, {"blk.0.ffn_down.weight", {48, 32}}};
}

Result<ModelWeights> Load(const Tensors& tensors,
                          const std::function<void(double)>& progress = {}) {
  GgufBuilder builder;
  builder.String("general.architecture", "llama")
      .U32("llama.context_length", 256)
      .U32("llama.embedding_length", 32)
      .U32("llama.block_count", 1)
      .U32("llama.feed_forward_length", 48)
      .U32("llama.attention.head_count", 2)
      .U32("llama.attention.head_count_kv", 1)
      .F32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  for (const auto& [name, shape] : tensors) builder.F32Tensor(name, shape);
  const std::vector<std::byte> bytes = builder.Bytes();
  const GgufFile file = WEIR_TRY(GgufFile::FromBytes(bytes, "tiny.gguf"));
  const ModelConfig config = WEIR_TRY(ReadModelConfig(file));
  ThreadPool pool(1);
  return LoadWeights(file, config, pool, progress);
}

std::string ErrorOf(const Tensors& tensors) {
  const auto weights = Load(tensors);
  return weights ? "loaded" : weights.error().message;
}

TEST(LoadWeights, ReportsProgressUpToTheEnd) {
  std::vector<double> reports;
  const auto weights = Load(OneLayer(), [&](double fraction) { reports.push_back(fraction); });
  ASSERT_TRUE(weights) << weights.error().message;
  ASSERT_FALSE(reports.empty());
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), 1.0);
}

TEST(LoadWeights, AHeadOfItsOwnIsKeptBesideTheEmbedding) {
  const auto weights = Load(OneLayer());
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(&weights->embedding_table(), &weights->embedding);
  EXPECT_EQ(weights->head.rows(), 40U);
}

TEST(LoadWeights, WithoutAHeadTheEmbeddingIsHeldOnce) {
  Tensors tensors = OneLayer();
  tensors.erase("output.weight");
  const auto weights = Load(tensors);
  ASSERT_TRUE(weights) << weights.error().message;
  EXPECT_EQ(&weights->embedding_table(), &weights->head);
  EXPECT_EQ(weights->embedding.bytes(), 0U);
}

TEST(LoadWeights, NamesAMissingTensorAndItsShape) {
  Tensors tensors = OneLayer();
  tensors.erase("blk.0.ffn_down.weight");
  const std::string error = ErrorOf(tensors);
  EXPECT_THAT(error, HasSubstr("tiny.gguf"));
  EXPECT_THAT(error, HasSubstr("'blk.0.ffn_down.weight' of shape [48, 32] is missing"));
}

TEST(LoadWeights, NamesBothShapesOfATensorThatDoesNotFit) {
  Tensors tensors = OneLayer();
  tensors["blk.0.attn_k.weight"] = {32, 32};
  EXPECT_THAT(ErrorOf(tensors), HasSubstr("'blk.0.attn_k.weight' has shape [32, 32], the model's "
                                          "metadata wants [32, 16]"));
}

TEST(LoadWeights, RefusesAPartThatItWouldLeaveOut) {
  Tensors tensors = OneLayer();
  tensors["blk.0.attn_q.bias"] = {32};
  EXPECT_THAT(ErrorOf(tensors), HasSubstr("'blk.0.attn_q.bias' of shape [32] belongs to no part"));
}

TEST(LoadWeights, LeavesOutDraftHeadsBehindTheLastLayer) {
  Tensors tensors = OneLayer();
  tensors["blk.1.nextn.eh_proj.weight"] = {64, 32};
  EXPECT_EQ(ErrorOf(tensors), "loaded");
}

}  // namespace
}  // namespace weir
