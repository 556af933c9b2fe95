#include "model/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/gguf_builder.h"

namespace weir {
namespace {

using test::GgufBuilder;
using testing::ElementsAre;
using testing::HasSubstr;

// The keys that every architecture needs: 8 layers, hidden 64, 4 heads of 16 over 2 KV heads.
GgufBuilder Base(const std::string& architecture) {
  GgufBuilder builder;
  builder.String("general.architecture", architecture)
      .U32(architecture + ".block_count", 8)
      .U32(architecture + ".context_length", 1024)
      .U32(architecture + ".embedding_length", 64)
      .U32(architecture + ".feed_forward_length", 128)
      .U32(architecture + ".attention.head_count", 4)
      .U32(architecture + ".attention.head_count_kv", 2)
      .F32(architecture + ".attention.layer_norm_rms_epsilon", 1e-5F)
      .F32Tensor("token_embd.weight", {64, 100});
  return builder;
}

Result<ModelConfig> Read(const GgufBuilder& builder) {
  static std::vector<std::byte> bytes;  // outlives the file
  bytes = builder.Bytes();
  return ReadModelConfig(WEIR_TRY(GgufFile::FromBytes(bytes, "f")));
}

Error Refused(const GgufBuilder& builder) {
  const auto config = Read(builder);
  EXPECT_FALSE(config.has_value());
  return config ? Error{} : config.error();
}

std::string Kinds(const ModelConfig& config) {
  std::string kinds;
  for (const LayerConfig& layer : config.layers) {
    kinds += layer.kv.group == KvGroupKind::kFull ? 'F' : 'w';
  }
  return kinds;
}

TEST(ReadModelConfig, FillsInWhatGemma3FilesLeaveOut) {
  GgufBuilder builder = Base("gemma3");
  builder.U32("gemma3.attention.sliding_window", 512)
      .U32("gemma3.attention.key_length", 32)
      .U32("gemma3.attention.value_length", 32);
  const ModelConfig config = *Read(builder);
  EXPECT_EQ(Kinds(config), "wwwwwFww");  // every 6th layer is full
  EXPECT_EQ(config.layers[6].kv.index, 5U);
  EXPECT_EQ(config.window->window, 512U);  // the own position is one of them
  EXPECT_EQ(config.window->rope.base, 1e4F);
  EXPECT_EQ(config.full->rope.base, 1e6F);
  EXPECT_EQ(config.full->rope.pairing, RopePairing::kHalves);
  EXPECT_EQ(config.full->rope.dims, 32U);
  EXPECT_EQ(config.embedding_scale, 8.0F);  // sqrt(64)
  EXPECT_FLOAT_EQ(config.full->score_scale, 1 / std::sqrt(32.0F));
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_TRUE(config.has_post_norms && config.has_qk_norm);
  EXPECT_EQ(config.vocab_size, 100U);
  EXPECT_EQ(config.norm_epsilon, 1e-5F);
}

TEST(ReadModelConfig, ScalesPositionsOfGemma3FullLayersOnly) {
  GgufBuilder builder = Base("gemma3");
  builder.U32("gemma3.attention.sliding_window", 512)
      .String("gemma3.rope.scaling.type", "linear")
      .F32("gemma3.rope.scaling.factor", 8);
  const ModelConfig config = *Read(builder);
  EXPECT_EQ(config.full->rope.position_scale, 0.125F);
  EXPECT_EQ(config.window->rope.position_scale, 1.0F);
}

TEST(ReadModelConfig, LetsThePatternKeyWinOverTheHabit) {
  GgufBuilder period = Base("gemma3");
  period.U32("gemma3.attention.sliding_window", 16)
      .U32("gemma3.attention.sliding_window_pattern", 2);
  EXPECT_EQ(Kinds(*Read(period)), "wFwFwFwF");
  GgufBuilder list = Base("gemma3");
  list.U32("gemma3.attention.sliding_window", 16)
      .Array<uint8_t>("gemma3.attention.sliding_window_pattern", GgufBuilder::kBool,
                      {0, 0, 1, 0, 0, 0, 0, 1});
  EXPECT_EQ(Kinds(*Read(list)), "FFwFFFFw");
}

TEST(ReadModelConfig, KnowsThatGemma3Of27BScalesScoresByHiddenSizeAHead) {
  GgufBuilder builder;
  builder.String("general.architecture", "gemma3")
      .U32("gemma3.block_count", 62)
      .U32("gemma3.context_length", 1024)
      .U32("gemma3.embedding_length", 5376)
      .U32("gemma3.feed_forward_length", 128)
      .U32("gemma3.attention.head_count", 32)
      .U32("gemma3.attention.head_count_kv", 16)
      .U32("gemma3.attention.key_length", 128)
      .F32Tensor("token_embd.weight", {1, 1});
  // query_pre_attn_scalar of google/gemma-3-27b-it is 168.
  EXPECT_FLOAT_EQ(Read(builder)->full->score_scale, 1 / std::sqrt(168.0F));
}

TEST(ReadModelConfig, ReadsLlamaWithFrequencyDivisors) {
  GgufBuilder builder = Base("llama");
  builder.F32("llama.rope.freq_base", 5e5F).F32Tensor("rope_freqs.weight", {8});
  const float divisors[8] = {1, 1, 1, 2, 4, 8, 8, 8};
  std::memcpy(builder.data().data() + 64 * 100 * 4, divisors, sizeof(divisors));
  const ModelConfig config = *Read(builder);
  EXPECT_EQ(Kinds(config), "FFFFFFFF");
  EXPECT_FALSE(config.window.has_value());
  EXPECT_EQ(config.full->k_dim, 16U);  // hidden / heads
  EXPECT_EQ(config.full->rope.pairing, RopePairing::kInterleaved);
  EXPECT_EQ(config.full->rope.base, 5e5F);
  EXPECT_THAT(config.full->rope.frequency_divisors, ElementsAre(1, 1, 1, 2, 4, 8, 8, 8));
  EXPECT_EQ(config.activation, Activation::kSilu);
  EXPECT_EQ(config.embedding_scale, 1.0F);
}

// Found by the fuzzer: such frequencies are infinite, and an angle of them is no number.
TEST(ReadModelConfig, RefusesFrequencyDivisorsAndFactorsNearZero) {
  GgufBuilder divisors = Base("llama");
  divisors.F32Tensor("rope_freqs.weight", {8});
  EXPECT_THAT(Refused(divisors).message, HasSubstr("'rope_freqs.weight' holds 0"));
  GgufBuilder factor = Base("llama");
  factor.F32("llama.rope.scaling.factor", 1e-40F);
  EXPECT_THAT(Refused(factor).message, HasSubstr("scaling factor"));
}

GgufBuilder Mimo2() {
  GgufBuilder builder;
  builder.String("general.architecture", "mimo2")
      .U32("mimo2.block_count", 4)
      .U32("mimo2.nextn_predict_layers", 1)
      .U32("mimo2.context_length", 1024)
      .U32("mimo2.embedding_length", 64)
      .U32("mimo2.feed_forward_length", 128)
      .U32("mimo2.attention.head_count", 8)
      .Array<int32_t>("mimo2.attention.head_count_kv", GgufBuilder::kI32, {2, 4, 4, 4})
      .U32("mimo2.attention.key_length", 24)
      .U32("mimo2.attention.value_length", 16)
      .U32("mimo2.attention.sliding_window", 128)
      .Array<uint8_t>("mimo2.attention.sliding_window_pattern", GgufBuilder::kBool, {0, 1, 1, 1})
      .F32("mimo2.attention.value_scale", 0.5F)
      .U32("mimo2.rope.dimension_count", 8)
      .F32("mimo2.rope.freq_base", 1e7F)
      .F32("mimo2.rope.freq_base_swa", 2e4F)
      .U32("mimo2.expert_count", 16)
      .U32("mimo2.expert_used_count", 2)
      .U32("mimo2.expert_feed_forward_length", 32)
      .F32Tensor("token_embd.weight", {64, 100})
      .F32Tensor("blk.1.ffn_gate_inp.weight", {64, 16});
  return builder;
}

TEST(ReadModelConfig, ReadsMimo2WithGroupsOfDifferentShapes) {
  const ModelConfig config = *Read(Mimo2());
  EXPECT_EQ(Kinds(config), "Fww");  // the block that predicts further tokens is no layer
  EXPECT_EQ(config.full->kv_heads, 2U);
  EXPECT_EQ(config.window->kv_heads, 4U);
  EXPECT_EQ(config.window->window, 129U);  // the key's 128 earlier positions and the own one
  EXPECT_EQ(config.window->k_dim, 24U);
  EXPECT_EQ(config.window->v_dim, 16U);
  EXPECT_EQ(config.window->rope.dims, 8U);
  EXPECT_EQ(config.full->rope.base, 1e7F);
  EXPECT_EQ(config.window->rope.base, 2e4F);
  EXPECT_EQ(config.value_scale, 0.5F);
  EXPECT_EQ(config.experts->count, 16U);
  EXPECT_EQ(config.experts->gate, RouterGate::kSigmoid);
  EXPECT_TRUE(config.experts->normalize_weights);
  EXPECT_FALSE(config.layers[0].has_experts);
  EXPECT_TRUE(config.layers[1].has_experts);  // told by the router's tensor
  EXPECT_FALSE(config.layers[2].has_experts);
}

TEST(ReadModelConfig, LaysOutGroupsForThePools) {
  const KvLayout layout = Read(Mimo2())->Layout(KvFormat::kF16);
  EXPECT_EQ(layout.full->layer_count, 1U);
  EXPECT_EQ(layout.window->layer_count, 2U);
  EXPECT_EQ(layout.window->window, 129U);
  EXPECT_EQ(layout.full->tile_bytes(), 128U * 2 * (24 + 16) * 2);  // tokens, heads, dims, f16
}

TEST(ReadModelConfig, ListsWhatItKnowsForAnUnknownArchitecture) {
  const Error error = Refused(Base("mamba"));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "f: unknown architecture 'mamba'; Weir runs gemma3, llama, mimo2");
}

TEST(ReadModelConfig, RefusesRopeScalingThatItWouldGetWrong) {
  for (const char* type : {"yarn", "longrope", "dynamic"}) {
    GgufBuilder builder = Base("llama");
    builder.String("llama.rope.scaling.type", type);
    const Error error = Refused(builder);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_THAT(error.message, HasSubstr(type));
  }
  GgufBuilder factor = Base("llama");
  factor.F32("llama.rope.scaling.attn_factor", 1.2F);
  EXPECT_EQ(Refused(factor).code, ErrorCode::kUnsupported);
}

TEST(ReadModelConfig, RefusesWhatItsArchitecturesDoNotHaveYet) {
  GgufBuilder experts = Base("llama");
  experts.U32("llama.expert_count", 8);
  EXPECT_EQ(Refused(experts).code, ErrorCode::kUnsupported);
  GgufBuilder shared = Mimo2();
  shared.U32("mimo2.expert_shared_count", 1);
  EXPECT_THAT(Refused(shared).message, HasSubstr("shared experts"));
  GgufBuilder window = Base("llama");
  window.U32("llama.attention.sliding_window", 64).U32("llama.attention.sliding_window_pattern", 2);
  EXPECT_EQ(Refused(window).code, ErrorCode::kUnsupported);
}

TEST(ReadModelConfig, RefusesATokenizerThatDoesNotFitTheEmbedding) {
  GgufBuilder builder = Base("llama");
  builder.Strings("tokenizer.ggml.tokens", {"a", "b"});
  EXPECT_THAT(Refused(builder).message, HasSubstr("2 tokens and 'token_embd.weight' 100 rows"));
}

TEST(ReadModelConfig, RefusesNumbersOutOfBounds) {
  const struct {
    const char* key;
    uint64_t value;
  } cases[] = {{"x.block_count", 0},
               {"x.block_count", 1000000000},
               {"x.embedding_length", 0},
               {"x.context_length", uint64_t{1} << 40},
               {"x.attention.head_count", 0},
               {"x.attention.head_count", uint64_t{1} << 33},
               {"x.attention.head_count_kv", 0},
               {"x.attention.head_count_kv", 3},  // 4 query heads cannot share 3
               {"x.attention.key_length", 1 << 20},
               {"x.attention.sliding_window", 0},
               {"x.attention.sliding_window", uint64_t{1} << 32},
               {"x.rope.dimension_count", 7},
               {"x.rope.dimension_count", 1024},
               {"x.nextn_predict_layers", 8}};
  for (const auto& [name, value] : cases) {
    const std::string key = "gemma3" + std::string(name).substr(1);
    GgufBuilder builder;
    builder.String("general.architecture", "gemma3");
    for (const auto& [other, usual] :
         std::vector<std::pair<std::string, uint32_t>>{{"gemma3.block_count", 8},
                                                       {"gemma3.context_length", 1024},
                                                       {"gemma3.embedding_length", 64},
                                                       {"gemma3.feed_forward_length", 128},
                                                       {"gemma3.attention.head_count", 4},
                                                       {"gemma3.attention.head_count_kv", 2}}) {
      if (other != key) builder.U32(other, usual);
    }
    builder.U64(key, value).F32Tensor("token_embd.weight", {64, 100});
    EXPECT_EQ(Refused(builder).code, ErrorCode::kCorrupt) << key << " = " << value;
  }
}

TEST(ReadModelConfig, RefusesFloatsThatAreNoNumbers) {
  for (const float value : {std::nanf(""), INFINITY, -1.0F}) {
    GgufBuilder base = Base("gemma3");
    base.F32("gemma3.rope.freq_base", value);
    EXPECT_EQ(Refused(base).code, ErrorCode::kCorrupt) << value;
    GgufBuilder scale = Base("gemma3");
    scale.F32("gemma3.rope.scaling.factor", value);
    EXPECT_EQ(Refused(scale).code, ErrorCode::kCorrupt) << value;
  }
}

}  // namespace
}  // namespace weir
