#include "model/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "model/counter_rng.h"
#include "model/logits_row.h"

namespace weir {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> RandomRow(size_t count, uint32_t seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  std::vector<float> row(count);
  for (float& x : row) x = normal(random);
  return row;
}

TokenId Token(int32_t id) { return TokenId(id); }

uint32_t DrawOne(const SamplingParams& params, std::span<const float> row, uint32_t position,
                 std::span<const TokenId> banned = {}) {
  Sampler sampler(params, {});
  return static_cast<uint32_t>(sampler.Sample(row, position, banned).token.value());
}

// The definition, slowly: sort everything, cut, renormalise. Probabilities by token.
std::map<uint32_t, double> SlowDistribution(const SamplingParams& params,
                                            std::span<const float> row) {
  std::vector<std::pair<double, uint32_t>> sorted;  // (-weight, id)
  const double max = *std::max_element(row.begin(), row.end());
  for (uint32_t i = 0; i < row.size(); ++i) {
    sorted.emplace_back(-std::exp((row[i] - max) / params.temperature), i);
  }
  std::sort(sorted.begin(), sorted.end());
  if (params.top_k > 0 && params.top_k < sorted.size()) sorted.resize(params.top_k);
  double mass = 0;
  for (const auto& [weight, id] : sorted) mass -= weight;
  std::map<uint32_t, double> kept;
  double sum = 0;
  for (const auto& [weight, id] : sorted) {
    if (!kept.empty() && (sum >= params.top_p * mass || -weight < params.min_p)) break;
    sum -= weight;
    kept[id] = -weight;
  }
  for (auto& [id, weight] : kept) weight /= sum;
  return kept;
}

TEST(Philox4x32, GivesTheKnownAnswersOfRandom123) {
  EXPECT_EQ(Philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox4x32({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(LogitsRow, ExpIsWithinTwoTenMillionthsOfLibm) {
  for (float x = 0; x > -87.0F; x -= 0.00137F) {
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(ExpNonPositive(x) / exact, 1.0, 2e-7) << x;
  }
  EXPECT_EQ(ExpNonPositive(0.0F), 1.0F);
  EXPECT_EQ(ExpNonPositive(-88.0F), 0.0F);
  EXPECT_EQ(ExpNonPositive(-kInf), 0.0F);
  EXPECT_EQ(ExpNonPositive(kNan), 0.0F);
}

TEST(LogitsRow, VectorsGiveTheScalarBits) {
  std::vector<float> row = RandomRow(1003, 2, 30.0F);
  row[3] = kNan, row[500] = kInf, row[1002] = -kInf, row[1001] = -200.0F;
  for (const float temperature : {1.0F, 0.3F, 1e-30F, 1e30F}) {
    const float max = RowMax(std::span(row).first(400));
    std::vector<float> exps(400);
    ExpRow(std::span(row).first(400), max, temperature, exps);
    for (size_t i = 0; i < exps.size(); ++i) {
      ASSERT_EQ(exps[i], ExpNonPositive((CleanLogit(row[i]) - max) / temperature)) << i;
    }
    exps.resize(row.size());
    ExpRow(row, CleanLogit(kInf), temperature, exps);
    EXPECT_EQ(exps[500], 1.0F);
    EXPECT_EQ(exps[3], 0.0F);
    EXPECT_EQ(exps[1002], 0.0F);
  }
}

TEST(LogitsRow, TopEntriesEqualASortOfTheWholeRow) {
  for (const size_t count : {1UL, 5UL, 63UL, 64UL, 1000UL, 20000UL}) {
    std::vector<float> row = RandomRow(count, static_cast<uint32_t>(count), 2.0F);
    for (float& x : row) x = std::round(x * 8) / 8;  // many equals
    if (count > 10) row[7] = kNan, row[9] = kInf, row[count - 1] = -kInf;
    std::vector<RowEntry> sorted;
    for (uint32_t i = 0; i < count; ++i) {
      if (row[i] > -kInf) sorted.push_back({CleanLogit(row[i]), i});
    }
    std::sort(sorted.begin(), sorted.end(), Precedes);
    for (const size_t wanted : {1UL, 2UL, 20UL, 64UL, 999UL, 30000UL}) {
      std::vector<RowEntry> top;
      TopEntries(row, static_cast<uint32_t>(wanted), top);
      ASSERT_EQ(top.size(), std::min(wanted, sorted.size()));
      for (size_t i = 0; i < top.size(); ++i) ASSERT_EQ(top[i].index, sorted[i].index);
    }
  }
}

TEST(Sampler, GreedyTakesTheLargestLogitAndTheSmallestIdAmongEquals) {
  EXPECT_EQ(DrawOne({.temperature = 0}, std::vector<float>{1, 5, 2, 5, 5}, 0), 1U);
  std::vector<float> row = RandomRow(262144, 3, 4.0F);
  row[200001] = row[77777] = 1000.0F;
  EXPECT_EQ(DrawOne({.temperature = 0}, row, 9), 77777U);
}

TEST(Sampler, ABannedTokenIsNeverDrawn) {
  const std::vector<float> row = {9, 8, 1};
  const std::vector<TokenId> banned = {Token(0)};
  EXPECT_EQ(DrawOne({.temperature = 0}, row, 0, banned), 1U);
  for (uint32_t position = 0; position < 500; ++position) {
    ASSERT_NE(DrawOne({.temperature = 2}, row, position, banned), 0U);
    ASSERT_NE(DrawOne({.temperature = 2, .top_k = 2}, row, position, banned), 0U);
  }
}

// Chi-square against the slow definition, 20,000 draws. The bound is the 99.99 % point of the
// normal approximation; seeds are fixed, so the test never flickers.
TEST(Sampler, DrawsFollowTheDefinedDistribution) {
  const std::vector<float> row = RandomRow(60, 11, 1.5F);
  const SamplingParams cases[] = {
      {},
      {.temperature = 0.5F},
      {.temperature = 2.0F, .top_k = 7},
      {.top_p = 0.7F},
      {.min_p = 0.1F},
      {.temperature = 1.5F, .top_p = 0.9F, .top_k = 20, .min_p = 0.05F},
      {.top_p = 1e-6F},
  };
  for (SamplingParams params : cases) {
    params.seed = 42;
    const auto expected = SlowDistribution(params, row);
    constexpr uint32_t kDraws = 20000;
    std::map<uint32_t, uint32_t> seen;
    for (uint32_t i = 0; i < kDraws; ++i) ++seen[DrawOne(params, row, i)];
    double chi_square = 0;
    for (const auto& [id, probability] : expected) {
      const double mean = probability * kDraws;
      chi_square += (seen[id] - mean) * (seen[id] - mean) / mean;
      seen.erase(id);
    }
    EXPECT_TRUE(seen.empty()) << "drew " << seen.begin()->first << ", which is cut off";
    const auto freedom = static_cast<double>(expected.size() - 1);
    EXPECT_LE(chi_square, freedom + 3.8 * std::sqrt(2 * freedom) + 5)
        << "T " << params.temperature << " p " << params.top_p << " k " << params.top_k;
  }
}

TEST(Sampler, TopPOfAFlatVocabularyKeepsExactlyItsShare) {
  // 4,096 equal logits: the fewest that hold a half are the first 2,048 ids, which is more than the
  // first look takes.
  const std::vector<float> row(4096, 1.0F);
  uint32_t largest = 0;
  for (uint32_t position = 0; position < 1500; ++position) {
    largest = std::max(largest, DrawOne({.top_p = 0.5F}, row, position));
  }
  EXPECT_LT(largest, 2048U);
  EXPECT_GT(largest, 1980U);
}

// The twin sorts the whole row, then cuts.
uint32_t SlowDraw(const SamplingParams& params, std::span<const float> row, uint32_t position) {
  const float max = RowMax(row);
  std::vector<RowEntry> sorted;
  TopEntries(row, static_cast<uint32_t>(row.size()), sorted);
  const double wanted = static_cast<double>(params.top_p) * SumOfExp(row, max, params.temperature);
  double sum = 0;
  size_t kept = 0;
  for (; kept < sorted.size(); ++kept) {
    sorted[kept].value = ExpNonPositive((sorted[kept].value - max) / params.temperature);
    if (kept > 0 && params.top_p < 1 && sum >= wanted) break;
    if (kept > 0 && sorted[kept].value < params.min_p) break;
    sum += static_cast<double>(sorted[kept].value);
  }
  const double target = UniformAt(params.seed, position, 0) * sum;
  double walked = 0;
  for (size_t i = 0; i < kept; ++i) {
    walked += static_cast<double>(sorted[i].value);
    if (walked > target) return sorted[i].index;
  }
  return sorted[kept - 1].index;
}

TEST(Sampler, TopPAndMinPDrawAsFromTheSortedRowWhateverItsShape) {
  for (const size_t count : {1, 7, 300, 5000, 40000}) {
    for (const float spread : {0.0F, 0.01F, 1.0F, 4.0F, 300.0F}) {
      std::vector<float> row = RandomRow(count, 5, spread);
      if (count > 7) row[3] = 5 * spread;  // a likeliest token that a sample misses
      if (count > 7) row[5] = -kInf;
      for (const float top_p : {1e-6F, 0.5F, 0.95F, 0.999999F, 1.0F}) {
        for (const float min_p : {0.0F, 1e-30F, 0.01F, 0.999F}) {
          if (top_p >= 1 && min_p <= 0) continue;
          for (const float temperature : {0.7F, 1e-6F}) {
            const SamplingParams params{.temperature = temperature, .top_p = top_p, .min_p = min_p};
            for (const uint32_t position : {1U, 2U}) {
              ASSERT_EQ(DrawOne(params, row, position), SlowDraw(params, row, position))
                  << count << " tokens, spread " << spread << ", top_p " << top_p << ", min_p "
                  << min_p << ", temperature " << temperature << ", position " << position;
            }
          }
        }
      }
    }
  }
}

TEST(Sampler, ALargeVocabularyIsDrawnFromBeyondTheFirstBlock) {
  std::vector<float> row(262144, -30.0F);
  row[5] = row[131072] = row[262143] = 0.0F;
  std::map<uint32_t, uint32_t> seen;
  for (uint32_t position = 0; position < 300; ++position) ++seen[DrawOne({}, row, position)];
  ASSERT_EQ(seen.size(), 3U);
  for (const auto& [id, count] : seen) EXPECT_NEAR(count, 100, 35) << id;
}

TEST(Sampler, ADrawDependsOnSeedAndPositionAlone) {
  const std::vector<float> row = RandomRow(1000, 5, 1.0F);
  Sampler straight({.seed = 7}, {});
  std::vector<uint32_t> forward;
  for (uint32_t position = 0; position < 50; ++position) {
    const auto sampled =
        straight.Sample(row, position, {}, position % 2 == 0 ? std::optional(3U) : std::nullopt);
    forward.push_back(static_cast<uint32_t>(sampled.token.value()));
  }
  for (uint32_t position = 50; position-- > 0;) {
    EXPECT_EQ(DrawOne({.seed = 7}, row, position), forward[position]);
  }
  EXPECT_GT(std::set<uint32_t>(forward.begin(), forward.end()).size(), 30U);
  EXPECT_NE(DrawOne({.seed = 8}, row, 0), forward[0]);
}

TEST(Sampler, PenaltiesFollowTheirFormulas) {
  // By hand, prompt {0}, answer {1, 1}: after repeat 2, frequency 0.5, presence 0.25
  //   token 0 (prompt)          4   / 2             = 2
  //   token 1 (answer twice)    7   / 2 - 1 - 0.25  = 2.25
  //   token 2                   2.1                 = 2.1
  //   token 3 (negative)       -1                   = -1
  SamplingParams params{.temperature = 0,
                        .repeat_penalty = 2.0F,
                        .frequency_penalty = 0.5F,
                        .presence_penalty = 0.25F};
  const std::vector<TokenId> prompt = {Token(0)};
  const auto next = [&](Sampler& sampler, std::vector<float> row) {
    return sampler.Sample(row, 0, {}).token.value();
  };
  Sampler sampler(params, prompt);
  EXPECT_EQ(next(sampler, {0, 9, 0, 0}), 1);
  EXPECT_EQ(next(sampler, {0, 90, 0, 0}), 1);
  EXPECT_EQ(next(sampler, {4, 7, 2.1F, -1}), 1);     // 2.25 wins; 1 is now used three times
  EXPECT_EQ(next(sampler, {4, 7, 2.1F, -1}), 2);     // 3.5 - 1.5 - 0.25 = 1.75 < 2 < 2.1
  EXPECT_EQ(next(sampler, {-1, -1, -9, -1.9F}), 3);  // negative: -1 * 2 = -2 for 0, less for 1
}

TEST(Sampler, ABiasIsAddedBeforeEverythingElse) {
  // By hand, prompt {0}, repeat 2:
  //   token 0   (6 - 8) = -2, negative, times 2   = -4      (not 6 / 2 - 8 = -5)
  //   token 1   -4 + 0.5                          = -3.5
  //   token 2   -4.5 + 1.25                       = -3.25
  const std::vector<TokenId> prompt = {Token(0)};
  const std::vector<float> row = {6, -4, -4.5F};
  SamplingParams params{.temperature = 0, .repeat_penalty = 2.0F};
  params.logit_bias = {{Token(0), -8}, {Token(1), 0.5F}, {Token(2), 1.25F}};
  const auto first = [&] { return Sampler(params, prompt).Sample(row, 0, {}).token.value(); };
  EXPECT_EQ(first(), 2);
  params.logit_bias.back().bias = 0.25F;  // -4.25
  EXPECT_EQ(first(), 1);
  params.logit_bias[1].bias = -0.5F;  // -4.5
  EXPECT_EQ(first(), 0);
}

TEST(Sampler, ABiasWeighsInEveryDraw) {
  // Logits 0 and 0 with a bias of ln 3 on token 1: one draw in four is token 0.
  SamplingParams params{.seed = 42};
  params.logit_bias = {{Token(1), std::log(3.0F)}};
  const std::vector<float> row = {0, 0};
  uint32_t zeros = 0;
  for (uint32_t position = 0; position < 4000; ++position) {
    zeros += DrawOne(params, row, position) == 0 ? 1 : 0;
  }
  EXPECT_NEAR(zeros, 1000, 110);  // 4 standard deviations of 27.4
  params.logit_bias = {{Token(1), -100}};
  for (uint32_t position = 0; position < 500; ++position) {
    ASSERT_EQ(DrawOne(params, row, position), 0U);
  }
}

TEST(Sampler, ABiasOfMinusInfinityIsABan) {
  SamplingParams params{.temperature = 0};
  params.logit_bias = {{Token(0), -kInf}};
  EXPECT_EQ(DrawOne(params, std::vector<float>{9, 1, 2}, 0), 2U);
  EXPECT_EQ(DrawOne(params, std::vector<float>{kInf, 1, 2}, 0), 2U);
  EXPECT_EQ(DrawOne(params, std::vector<float>{9, kNan, kNan}, 0), 1U) << "when nothing is left";
}

TEST(Sampler, ABiasDoesNotTouchLogprobs) {
  SamplingParams params{.temperature = 0};
  params.logit_bias = {{Token(1), 50}};
  Sampler sampler(params, {});
  const SampledToken sampled = sampler.Sample(std::vector<float>{0, 0}, 0, {}, 0);
  EXPECT_EQ(sampled.token.value(), 1);
  EXPECT_NEAR(sampled.logprob, std::log(0.5), 1e-6);
}

TEST(Sampler, ChoicesDrawDifferentlyAndTheFirstAsIfAlone) {
  const std::vector<float> row = RandomRow(1000, 5, 1.0F);
  const SamplingParams alone{.seed = 7};
  SamplingParams first{.seed = 7};
  first.choice = 0;
  SamplingParams second{.seed = 7};
  second.choice = 1;
  uint32_t equal = 0;
  for (uint32_t position = 0; position < 50; ++position) {
    EXPECT_EQ(DrawOne(first, row, position), DrawOne(alone, row, position));
    equal += DrawOne(second, row, position) == DrawOne(alone, row, position) ? 1 : 0;
  }
  EXPECT_LT(equal, 5U);
}

TEST(Sampler, PenaltiesDoNotTouchLogprobs) {
  const std::vector<float> row = {0, 0};
  Sampler sampler({.temperature = 0, .presence_penalty = 2.0F}, {});
  EXPECT_EQ(sampler.Sample(row, 0, {}, 0).token.value(), 0);
  const SampledToken second = sampler.Sample(row, 1, {}, 2);
  EXPECT_EQ(second.token.value(), 1);
  EXPECT_NEAR(second.logprob, std::log(0.5), 1e-6);
  EXPECT_NEAR(second.top[0].logprob, std::log(0.5), 1e-6);
}

TEST(Sampler, ParametersOutOfRangeAreNamed) {
  const std::pair<SamplingParams, const char*> cases[] = {
      {{.temperature = -1}, "temperature"},
      {{.temperature = kNan}, "temperature"},
      {{.temperature = kInf}, "temperature"},
      {{.top_p = 0}, "top_p"},
      {{.top_p = 1.01F}, "top_p"},
      {{.min_p = 1}, "min_p"},
      {{.repeat_penalty = 0}, "repeat"},
      {{.frequency_penalty = 2.5F}, "frequency"},
      {{.presence_penalty = kNan}, "presence"}};
  for (const auto& [params, name] : cases) {
    const auto checked = CheckSamplingParams(params);
    ASSERT_FALSE(checked) << name;
    EXPECT_NE(checked.error().message.find(name), std::string::npos) << checked.error().message;
  }
  EXPECT_TRUE(CheckSamplingParams({.temperature = 0}));
  for (const float bias : {100.5F, -101.0F, kInf, kNan}) {
    SamplingParams params;
    params.logit_bias = {{Token(0), bias}};
    EXPECT_FALSE(CheckSamplingParams(params)) << bias;
  }
  SamplingParams params;
  params.logit_bias = {{Token(0), 100}, {Token(1), -100}, {Token(2), -kInf}};
  EXPECT_TRUE(CheckSamplingParams(params));
}

TEST(LogprobOf, EqualsTheDoublePrecisionLogSoftmax) {
  const std::vector<float> row = RandomRow(50257, 21, 6.0F);
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x));
  const SampledToken result = LogprobOf(row, Token(123), 25);
  EXPECT_NEAR(result.logprob, row[123] - std::log(sum), 2e-6);
  ASSERT_EQ(result.top.size(), 25U);
  for (size_t i = 0; i < 25; ++i) {
    const auto id = static_cast<size_t>(result.top[i].token.value());
    EXPECT_NEAR(result.top[i].logprob, row[id] - std::log(sum), 2e-6);
    EXPECT_GE(result.top[i == 0 ? 0 : i - 1].logprob, result.top[i].logprob);
  }
}

TEST(Sampler, LogitsThatAreNoNumbersNeitherCrashNorWin) {
  const std::vector<std::vector<float>> rows = {
      {kNan, kNan, kNan}, {-kInf, -kInf, -kInf}, {kNan, 1, -kInf}, {kInf, kNan, kInf}, {kNan}};
  for (const auto& row : rows) {
    for (const SamplingParams& params :
         {SamplingParams{.temperature = 0}, SamplingParams{}, SamplingParams{.temperature = 1e-30F},
          SamplingParams{.temperature = 1e30F},
          SamplingParams{.top_p = 0.5F, .top_k = 2, .min_p = 0.5F}}) {
      Sampler sampler(params, {});
      const SampledToken sampled = sampler.Sample(row, 0, {}, 5);
      ASSERT_LT(static_cast<size_t>(sampled.token.value()), row.size());
      EXPECT_FALSE(std::isnan(sampled.logprob));
      EXPECT_GE(sampled.logprob, kLeastLogprob);
      EXPECT_TRUE(&row != &rows[2] || sampled.token.value() == 1);
      EXPECT_TRUE(&row != &rows[3] || sampled.token.value() != 1);
    }
  }
  const std::vector<TokenId> banned = {Token(0)};
  EXPECT_EQ(DrawOne({}, rows[0], 0, banned), 1U);
}

}  // namespace
}  // namespace weir
