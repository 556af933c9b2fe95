// Logits against transformers' on tiny random models (tools/make_model_goldens.py).
#include <gtest/gtest.h>

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

struct Distance {
  double logit = 0;    // largest |difference|
  double logprob = 0;  // largest |difference|
  double kl = 0;       // largest KL(reference || ours) of a row

  void Add(std::span<const float> reference, std::span<const float> ours) {
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

Distance DistanceTo(const nlohmann::json& rows, std::span<const float> logits, size_t vocab_size) {
  Distance distance;
  for (const auto& [position, row] : rows.items()) {
    const std::vector<float> reference = row;
    EXPECT_EQ(reference.size(), vocab_size);
    distance.Add(reference, logits.subspan(std::stoul(position) * vocab_size, vocab_size));
  }
  return distance;
}

void Print(const std::string& name, const char* kv, const Distance& distance) {
  std::printf("%-24s %s KV: max |logit| %.2e, max |log-probability| %.2e, max KL %.2e\n",
              name.c_str(), kv, distance.logit, distance.logprob, distance.kl);
}

class ModelGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ModelGolden, LogitsWithHalfKvEqualTransformersWithHalfKv) {
  const Golden golden = ReadGolden(GetParam());
  ModelRunner runner(GoldenModelPath(std::string(GetParam()) + ".gguf"), {});
  const std::vector<uint32_t> chunks = {512};
  const std::vector<float> logits = runner.Logits(golden.tokens, chunks);
  const Distance half = DistanceTo(golden.file["rows_f16_kv"], logits, runner.vocab_size());
  Print(GetParam(), "f16", half);
  // An f32 rounding apart now and then becomes an f16 rounding apart: 1.3e-3 was seen.
  EXPECT_LT(half.logprob, 2.5e-3);
  const Distance full = DistanceTo(golden.file["rows"], logits, runner.vocab_size());
  Print(GetParam(), "f16 against f32", full);
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
