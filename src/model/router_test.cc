#include "model/router.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weir {
namespace {

std::vector<ExpertChoice> Choose(const ExpertSpec& spec, std::vector<float> logits,
                                 const std::vector<float>& bias) {
  std::vector<ExpertChoice> choices(spec.used);
  ChooseExperts(spec, logits, bias, choices);
  return choices;
}

double Sigma(double x) { return 1 / (1 + std::exp(-x)); }

TEST(ChooseExperts, TakesTheLargestScoresBestFirst) {
  const ExpertSpec spec{.count = 5, .used = 3, .gate = RouterGate::kSigmoid};
  const auto choices = Choose(spec, {0, 3, -1, 2, 1}, {});
  EXPECT_EQ(choices[0].expert, 1U);
  EXPECT_EQ(choices[1].expert, 3U);
  EXPECT_EQ(choices[2].expert, 4U);
  EXPECT_NEAR(choices[0].weight, Sigma(3), 1e-6);
  EXPECT_NEAR(choices[2].weight, Sigma(1), 1e-6);
}

TEST(ChooseExperts, BiasDecidesWhoIsChosenButNotTheWeights) {
  const ExpertSpec spec{
      .count = 4, .used = 2, .gate = RouterGate::kSigmoid, .normalize_weights = true};
  //   score   0.88  0.5  0.27  0.73      + bias   0.88  0.5  1.27  0.23
  const auto choices = Choose(spec, {2, 0, -1, 1}, {0, 0, 1, -0.5});
  EXPECT_EQ(choices[0].expert, 2U);
  EXPECT_EQ(choices[1].expert, 0U);
  EXPECT_NEAR(choices[0].weight, Sigma(-1) / (Sigma(-1) + Sigma(2)), 1e-6);
  EXPECT_NEAR(choices[1].weight, Sigma(2) / (Sigma(-1) + Sigma(2)), 1e-6);
}

TEST(ChooseExperts, AmongEqualsTheSmallerIndexIsChosen) {
  const ExpertSpec spec{.count = 4, .used = 2, .gate = RouterGate::kSigmoid};
  const auto choices = Choose(spec, {1, 1, 1, 1}, {});
  EXPECT_EQ(choices[0].expert, 0U);
  EXPECT_EQ(choices[1].expert, 1U);
}

TEST(ChooseExperts, SoftmaxIsOverAllExpertsAndScaleComesLast) {
  const ExpertSpec spec{.count = 3, .used = 1, .gate = RouterGate::kSoftmax, .weight_scale = 2.5F};
  const auto choices = Choose(spec, {0, 1, 2}, {});
  const double sum = 1 + std::exp(1) + std::exp(2);
  EXPECT_EQ(choices[0].expert, 2U);
  EXPECT_NEAR(choices[0].weight, 2.5 * std::exp(2) / sum, 1e-6);
}

TEST(ChooseExperts, NotANumberEverywhereStillChoosesDistinctExperts) {
  const ExpertSpec spec{.count = 4, .used = 3, .gate = RouterGate::kSigmoid};
  const auto choices = Choose(spec, {NAN, NAN, NAN, NAN}, {});
  EXPECT_EQ(choices[0].expert, 0U);
  EXPECT_EQ(choices[1].expert, 1U);
  EXPECT_EQ(choices[2].expert, 2U);
}

}  // namespace
}  // namespace weir
