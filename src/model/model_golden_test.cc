// Logits against transformers' on tiny random models (tools/make_model_goldens.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/model_runner.h"

namespace weir {
namespace {

using testing::GoldenModelPath;
using testing::ModelRunner;

std::vector<double> LogSoftmax(std::span<const float> logits) {
  double max = -INFINITY;
  for (const float x : logits) max = std::max(max, double{x});
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - max);
  std::vector<double> result;
  for (const float x : logits) result.push_back(x - max - std::log(sum));
  return result;
}

// All infinite once a logit of ours is no number: a NaN would win no comparison.
struct Distance {
  double logit = 0;    // largest |difference|
  double logprob = 0;  // largest |difference|
  double kl = 0;       // largest KL(reference || ours) of a row

  void Add(std::span<const float> reference, std::span<const float> ours) {
    if (!std::all_of(ours.begin(), ours.end(), [](float x) { return std::isfinite(x); })) {
      logit = logprob = kl = INFINITY;
      return;
    }
    const std::vector<double> p = LogSoftmax(reference);
    const std::vector<double> q = LogSoftmax(ours);
    double row_kl = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      logit = std::max(logit, std::abs(double{reference[i]} - ours[i]));
      logprob = std::max(logprob, std::abs(p[i] - q[i]));
      row_kl += std::exp(p[i]) * (p[i] - q[i]);
    }
    kl = std::max(kl, row_kl);
  }
};

struct Golden {
  std::vector<TokenId> tokens;
  nlohmann::json file;
};

Golden ReadGolden(const std::string& name) {
  Golden golden;
  std::ifstream stream(GoldenModelPath(name + ".json"));
  golden.file = nlohmann::json::parse(stream);
  for (const int32_t token : golden.file["tokens"]) golden.tokens.emplace_back(token);
  return golden;
}

Distance DistanceTo(const nlohmann::json& rows, std::span<const float> logits) {
  EXPECT_FALSE(rows.empty());
  Distance distance;
  for (const auto& [position, row] : rows.items()) {
    const std::vector<float> reference = row;
    const size_t columns = reference.size();
    distance.Add(reference, logits.subspan(std::stoul(position) * columns, columns));
  }
  return distance;
}

void Print(const std::string& name, const char* kv, const Distance& distance) {
  std::printf("%-22s %-21s: max |logit| %.2e, max |log-probability| %.2e, max KL %.2e\n",
              name.c_str(), kv, distance.logit, distance.logprob, distance.kl);
}

class ModelGolden : public ::testing::TestWithParam<const char*> {};

std::vector<float> LogitsOf(const std::string& name, const Golden& golden, KvFormat format) {
  ModelRunner runner(GoldenModelPath(name + ".gguf"), {.threads = 2, .format = format});
  const std::vector<uint32_t> chunks = {512};
  return runner.Logits(golden.tokens, chunks);
}

// Both programs compute in f32 and differ in the order of sums: some 1e-7 of a logit's terms for
// each of a few hundred operations in a row. 1e-3 is far above that and far below what a wrong key,
// angle or norm does (0.1 and more on these models).
constexpr double kBound = 1e-3;

TEST_P(ModelGolden, LogitsWithUnroundedKvAreThoseOfTransformers) {
  const Golden golden = ReadGolden(GetParam());
  const auto logits = LogitsOf(GetParam(), golden, KvFormat::kF32);
  const Distance distance = DistanceTo(golden.file["rows"], logits);
  Print(GetParam(), "f32 KV", distance);
  EXPECT_LT(distance.logprob, kBound);
}

// The reference rounds its keys and values to f16 too. Where an element lies on the edge between
// two f16 values, the last bit of f32 decides which one it becomes, and the two programs are then
// one f16 step (5e-4) apart in it: 1.3e-3 in log-probability was seen.
TEST_P(ModelGolden, LogitsWithHalfKvAreThoseOfTransformersWithHalfKv) {
  const Golden golden = ReadGolden(GetParam());
  const auto logits = LogitsOf(GetParam(), golden, KvFormat::kF16);
  const Distance distance = DistanceTo(golden.file["rows_f16_kv"], logits);
  Print(GetParam(), "f16 KV", distance);
  EXPECT_LT(distance.logprob, 2.5 * kBound);
  Print(GetParam(), "f16 KV against f32 KV", DistanceTo(golden.file["rows"], logits));
}

INSTANTIATE_TEST_SUITE_P(All, ModelGolden,
                         ::testing::Values("gemma3-w48-seed1", "gemma3-w128-seed2",
                                           "gemma3-scaled-seed3", "llama-untied-seed1",
                                           "llama-tied-seed2", "llama-ropefreqs-seed3",
                                           "mimo2-w41-seed1", "mimo2-w128-seed2",
                                           "mimo2-w101-seed3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weir
