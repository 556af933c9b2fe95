// What drawing a token costs on a row of Gemma's 262,144 logits, beside the decode step it ends.
#include <benchmark/benchmark.h>

#include <vector>

#include "model/sampler.h"
#include "random_data.h"

namespace weir {
namespace {

constexpr uint32_t kVocabulary = 262144;
constexpr uint32_t kPromptTokens = 4096;

// A prompt of many different tokens: each costs a penalty.
std::vector<TokenId> Prompt() {
  std::vector<TokenId> prompt;
  for (uint32_t i = 0; i < kPromptTokens; ++i) {
    prompt.emplace_back(static_cast<int32_t>(i * 61 % kVocabulary));
  }
  return prompt;
}

void DrawTokens(benchmark::State& state, const SamplingParams& params) {
  auto logits = bench::RandomValues(kVocabulary, 3);
  for (float& logit : logits) logit *= 3;  // a spread as of real rows
  Sampler sampler(params, Prompt());
  uint32_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(sampler.Sample(logits, position++, {}));
  }
}

BENCHMARK_CAPTURE(DrawTokens, greedy, SamplingParams{.temperature = 0})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(DrawTokens, temperature, SamplingParams{.temperature = 0.8F})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(DrawTokens, top_k_40_top_p,
                  SamplingParams{.temperature = 0.8F, .top_p = 0.95F, .top_k = 40})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(DrawTokens, top_p, SamplingParams{.temperature = 0.8F, .top_p = 0.95F})
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(DrawTokens, top_k_40_top_p_penalties,
                  SamplingParams{.temperature = 0.8F,
                                 .top_p = 0.95F,
                                 .top_k = 40,
                                 .repeat_penalty = 1.1F,
                                 .frequency_penalty = 0.1F,
                                 .presence_penalty = 0.1F})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace weir

BENCHMARK_MAIN();
