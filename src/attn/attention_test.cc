#include "attn/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "simd/half.h"
#include "support/attention_data.h"
#include "support/seed.h"

namespace weir {
namespace {

using test::AttentionCase;
using test::AttentionData;
using test::AttentionSequence;
using test::RunInChunks;

const AttentionCase kCases[] = {
    {.name = "Full", .q_heads = 1, .kv_heads = 1, .k_dim = 16, .v_dim = 16},
    {.name = "GroupOf2", .q_heads = 4, .kv_heads = 2, .k_dim = 24, .v_dim = 16},
    {.name = "GroupOf3", .q_heads = 9, .kv_heads = 3, .k_dim = 64, .v_dim = 64},
    {.name = "GroupOf4", .q_heads = 4, .kv_heads = 1, .k_dim = 48, .v_dim = 80, .window = 512},
    {.name = "GroupOf5", .q_heads = 5, .kv_heads = 1, .k_dim = 8, .v_dim = 48},
    {.name = "GroupOf6", .q_heads = 6, .kv_heads = 1, .k_dim = 8, .v_dim = 32, .window = 200},
    {.name = "GroupOf7", .q_heads = 7, .kv_heads = 1, .k_dim = 8, .v_dim = 17},
    {.name = "GroupOf8", .q_heads = 16, .kv_heads = 2, .k_dim = 48, .v_dim = 32, .window = 129},
    {.name = "GroupOf9", .q_heads = 9, .kv_heads = 1, .k_dim = 5, .v_dim = 3},
    {.name = "Sinks",
     .q_heads = 4,
     .kv_heads = 2,
     .k_dim = 12,
     .v_dim = 8,
     .window = 128,
     .has_sinks = true},
    {.name = "Softcap", .q_heads = 2, .kv_heads = 1, .k_dim = 16, .v_dim = 16, .softcap = 4.0F},
    {.name = "AllAtOnce",
     .q_heads = 4,
     .kv_heads = 2,
     .k_dim = 20,
     .v_dim = 36,
     .window = 300,
     .softcap = 30.0F,
     .has_sinks = true},
    {.name = "Window1", .q_heads = 2, .kv_heads = 2, .k_dim = 8, .v_dim = 16, .window = 1},
    {.name = "Window7", .q_heads = 4, .kv_heads = 1, .k_dim = 8, .v_dim = 16, .window = 7},
    {.name = "Window100", .q_heads = 2, .kv_heads = 1, .k_dim = 8, .v_dim = 20, .window = 100},
    {.name = "Peaked",
     .q_heads = 2,
     .kv_heads = 1,
     .k_dim = 16,
     .v_dim = 16,
     .score_spread = 60.0F},
};

double Half(float value) { return HalfToFloat(FloatToHalf(value)); }

// Plain softmax attention of one query row in f64, on the f16 values that a cache holds.
std::vector<double> ReferenceRow(const AttentionData& data, uint32_t position, uint32_t head) {
  const AttentionShape shape = data.Shape();
  const uint32_t kv_head = head / (shape.q_heads / shape.kv_heads);
  const uint32_t first =
      shape.window == 0 || position < shape.window ? 0 : position - shape.window + 1;
  const float* query =
      data.queries.data() + (size_t{position} * shape.q_heads + head) * shape.k_dim;
  std::vector<double> scores;
  for (uint32_t j = first; j <= position; ++j) {
    const float* key = data.keys.data() + (size_t{j} * shape.kv_heads + kv_head) * shape.k_dim;
    double score = 0;
    for (uint32_t d = 0; d < shape.k_dim; ++d) score += double{query[d]} * Half(key[d]);
    score *= double{shape.scale};
    if (shape.softcap != 0) score = shape.softcap * std::tanh(score / shape.softcap);
    scores.push_back(score);
  }
  double max = *std::max_element(scores.begin(), scores.end());
  if (!shape.sinks.empty()) max = std::max(max, double{shape.sinks[head]});
  double sum = shape.sinks.empty() ? 0 : std::exp(double{shape.sinks[head]} - max);
  std::vector<double> out(shape.v_dim);
  for (uint32_t j = first; j <= position; ++j) {
    const float* value = data.values.data() + (size_t{j} * shape.kv_heads + kv_head) * shape.v_dim;
    const double weight = std::exp(scores[j - first] - max);
    sum += weight;
    for (uint32_t d = 0; d < shape.v_dim; ++d) out[d] += weight * Half(value[d]);
  }
  for (double& x : out) x /= sum;
  return out;
}

class AttentionOf : public testing::TestWithParam<AttentionCase> {};

INSTANTIATE_TEST_SUITE_P(Shapes, AttentionOf, testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(AttentionOf, EqualsSoftmaxInDoublePrecision) {
  WEIR_TRACE_SEED();
  // Errors: a score is off by k_dim * eps * sum |terms|, a weight by as much relatively.
  const double bound = GetParam().score_spread * 3e-6;
  const AttentionData data(GetParam(), 3000, test::Seed());
  const std::vector<float> out = RunInChunks(data, {2048}, 2, ChosenIsa());
  double worst = 0;
  for (const uint32_t position :
       {0U,   1U,   5U,   98U,   99U,   100U,  126U,  127U,  128U,  129U, 255U,
        256U, 511U, 512U, 1022U, 1023U, 1024U, 1025U, 2047U, 2048U, 2999U}) {
    for (uint32_t head = 0; head < GetParam().q_heads; ++head) {
      const auto expected = ReferenceRow(data, position, head);
      for (uint32_t d = 0; d < GetParam().v_dim; ++d) {
        const size_t at = (size_t{position} * GetParam().q_heads + head) * GetParam().v_dim + d;
        ASSERT_NEAR(out[at], expected[d], bound) << position << " head " << head << " dim " << d;
        worst = std::max(worst, std::abs(out[at] - expected[d]));
      }
    }
  }
  RecordProperty("worst_error", std::to_string(worst));
}

TEST_P(AttentionOf, HasTheSameBitsForAnyChunksAndThreads) {
  WEIR_TRACE_SEED();
  const AttentionData data(GetParam(), 1200, test::Seed());
  const auto expected = RunInChunks(data, {2048}, 1, ChosenIsa());
  for (const uint32_t threads : {1U, 2U, 3U, 8U}) {
    EXPECT_EQ(RunInChunks(data, {512}, threads, ChosenIsa()), expected) << threads << " threads";
  }
  EXPECT_EQ(RunInChunks(data, {1}, 2, ChosenIsa()), expected);
  EXPECT_EQ(RunInChunks(data, {7}, 2, ChosenIsa()), expected);
  EXPECT_EQ(RunInChunks(data, {64}, 2, ChosenIsa()), expected);
  EXPECT_EQ(RunInChunks(data, {127}, 2, ChosenIsa()), expected);
  EXPECT_EQ(RunInChunks(data, {128}, 2, ChosenIsa()), expected);
  EXPECT_EQ(RunInChunks(data, {300, 1, 1, 2048, 5}, 2, ChosenIsa()), expected);
}

TEST_P(AttentionOf, HasTheSameBitsBesideOtherSequences) {
  WEIR_TRACE_SEED();
  const AttentionData first(GetParam(), 1300, test::Seed());
  const AttentionData second(GetParam(), 700, test::Seed() + 1);
  AttentionSequence a(first, 512);
  AttentionSequence b(second, 512);
  ThreadPool pool(2);
  Attention attention(pool);
  AttentionShape shape = first.Shape();
  AttentionData same_sinks = second;
  same_sinks.sinks = first.sinks;  // one layer has one set of sinks
  while (a.left() > 0) {
    std::vector<AttentionSegment> segments = {a.Begin(std::min(a.left(), 130U))};
    const bool both = b.left() > 0;
    if (both) segments.push_back(b.Begin(std::min(b.left(), 70U)));
    attention.Run(shape, segments);
    a.End();
    if (both) b.End();
  }
  EXPECT_EQ(a.out(), RunInChunks(first, {512}, 1, ChosenIsa()));
  EXPECT_EQ(b.out(), RunInChunks(same_sinks, {512}, 1, ChosenIsa()));
}

TEST_P(AttentionOf, HasTheSameBitsOnEveryInstructionSet) {
  WEIR_TRACE_SEED();
  const AttentionData data(GetParam(), 400, test::Seed());
  const auto expected = RunInChunks(data, {150, 1, 1}, 1, Isa::kScalar);
  for (const Isa isa : SupportedIsas()) {
    EXPECT_EQ(RunInChunks(data, {150, 1, 1}, 2, isa), expected) << NameOf(isa);
    EXPECT_EQ(RunInChunks(data, {400}, 2, isa), expected) << NameOf(isa);
  }
}

TEST(Attention, SinksTakeTheirShareOfTheSoftmaxAndAddNoValue) {
  // One key of score 0 and a sink of logit ln 3: the value's weight is 1 / (1 + 3).
  const std::vector<float> query = {0, 0};
  const std::vector<float> key = {1, 1};
  const std::vector<float> value = {8, -4};
  const std::vector<float> sinks = {std::log(3.0F)};
  KvCache cache({.full = KvGroup{.layer_count = 1, .kv_heads = 1, .k_dim = 2, .v_dim = 2}},
                {.full_bytes = 4096}, 1);
  SequenceView view(cache);
  auto chunk = view.BeginChunk(1);
  ASSERT_TRUE(chunk.has_value());
  chunk->Write({}, 0, key, value);
  std::vector<float> out(2);
  ThreadPool pool(1);
  const AttentionSegment segment{
      .tiles = chunk->Tiles({}), .row_count = 1, .queries = query.data(), .out = out.data()};
  Attention(pool).Run({.q_heads = 1, .kv_heads = 1, .k_dim = 2, .v_dim = 2, .sinks = sinks},
                      std::span(&segment, 1));
  EXPECT_NEAR(out[0], 2.0F, 1e-6);
  EXPECT_NEAR(out[1], -1.0F, 1e-6);
}

}  // namespace
}  // namespace weir
