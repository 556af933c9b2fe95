// Calls each hot kernel once on fixed inputs, for callgrind to count its instructions (counts.py).
// Prints the names in the order of the calls. One thread.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "model/sampler.h"
#include "random_data.h"
#include "simd/vector_ops.h"
#include "support/attention_data.h"

// callgrind finds its calls by this name: everything inside one is counted, nothing else.
extern "C" __attribute__((noinline)) void WeirCountedCall(const std::function<void()>& kernel) {
  kernel();
  asm volatile("" ::: "memory");
}

namespace weir {
namespace {

void Count(const std::string& name, const std::function<void()>& kernel) {
  kernel();  // buffers grow, lazy symbols are bound
  std::puts(name.c_str());
  std::fflush(stdout);
  WeirCountedCall(kernel);
}

void CountMatMul(WeightType type, uint32_t rows) {
  constexpr uint32_t kOutputs = 128;
  constexpr uint32_t kInputs = 512;
  ThreadPool pool(1);
  const PackedMatrix weights = bench::RandomWeights(type, kOutputs, kInputs, pool);
  const auto values = bench::RandomValues(size_t{rows} * kInputs, 2);
  std::vector<float> y(size_t{rows} * kOutputs);
  Activations x;
  Count("matmul/" + std::string(InfoOf(type).name) + "/rows:" + std::to_string(rows), [&] {
    x.Set(values.data(), rows, kInputs);
    MatMul(weights, x, y.data(), kOutputs, pool);
  });
}

void CountAttention(const std::string& name, uint32_t window, uint32_t depth, uint32_t rows) {
  const test::AttentionCase shape{
      .q_heads = 4, .kv_heads = 1, .k_dim = 128, .v_dim = 128, .window = window};
  const test::AttentionData data(shape, depth + rows, 1);
  test::AttentionSequence sequence(data, depth);
  sequence.Begin(depth);  // rows only: nothing reads their attention
  sequence.End();
  const AttentionSegment segment = sequence.Begin(rows);
  ThreadPool pool(1);
  Attention attention(pool);
  Count("attention/" + name, [&] { attention.Run(data.Shape(), std::span(&segment, 1)); });
  sequence.End();
}

void CountRowOperations() {
  const auto x = bench::RandomValues(2048, 4);
  const auto y = bench::RandomValues(2048, 5);
  std::vector<float> out(2048);
  const auto hidden = std::span(x).first(640);
  Count("rms_norm/640",
        [&] { RmsNorm(hidden, std::span(y).first(640), 1e-6F, std::span(out).first(640)); });
  Count("gelu_mul/2048", [&] { GeluTanhMul(x, y, out); });
  Count("silu_mul/2048", [&] { SiluMul(x, y, out); });
  Count("exp_and_sum/128", [&] { (void)ExpAndSum(1.0F, std::span(out).first(128)); });
}

void CountSampler(const std::string& name, const SamplingParams& params) {
  const auto logits = bench::RandomValues(262144, 3);
  std::vector<TokenId> prompt;
  for (int32_t i = 0; i < 1000; ++i) prompt.emplace_back(i * 61);
  Sampler sampler(params, prompt);
  Count("sampler/" + name, [&] { (void)sampler.Sample(logits, 7, {}); });
}

void CountAll() {
  for (uint8_t index = 0; index <= static_cast<uint8_t>(WeightType::kQ6_K); ++index) {
    for (const uint32_t rows : {1U, 64U}) CountMatMul(static_cast<WeightType>(index), rows);
  }
  CountAttention("full/decode", 0, 1100, 1);
  CountAttention("full/prefill", 0, 512, 64);
  CountAttention("window/prefill", 200, 512, 64);
  CountRowOperations();
  CountSampler("greedy", {.temperature = 0});
  CountSampler("temperature", {});
  CountSampler("top_k_top_p", {.top_p = 0.95F, .top_k = 40});
  CountSampler("penalties",
               {.top_p = 0.95F, .top_k = 40, .repeat_penalty = 1.1F, .presence_penalty = 0.1F});
}

}  // namespace
}  // namespace weir

int main() { weir::CountAll(); }
