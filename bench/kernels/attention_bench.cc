// Attention of one layer against this machine: GFLOP/s of a prefill chunk, GB/s of KV for one
// decode row, at several depths. layer_shape x depth x rows x threads.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/attention_data.h"

namespace weir {
namespace {

const test::AttentionCase kShapes[] = {
    {.name = "gemma3-270m-full", .q_heads = 4, .kv_heads = 1, .k_dim = 256, .v_dim = 256},
    {.name = "gemma3-270m-window",
     .q_heads = 4,
     .kv_heads = 1,
     .k_dim = 256,
     .v_dim = 256,
     .window = 512},
    {.name = "smollm2-135m", .q_heads = 9, .kv_heads = 3, .k_dim = 64, .v_dim = 64},
    {.name = "mimo2-full", .q_heads = 64, .kv_heads = 4, .k_dim = 192, .v_dim = 128},
};

// (row, key) pairs that rows [depth, depth + rows) see.
double VisiblePairs(uint32_t window, uint32_t depth, uint32_t rows) {
  double pairs = 0;
  for (uint32_t i = depth; i < depth + rows; ++i) {
    pairs += window == 0 ? i + 1 : std::min(i + 1, window);
  }
  return pairs;
}

void AttendRows(benchmark::State& state, const test::AttentionCase& shape, uint32_t depth,
                uint32_t rows, uint32_t threads) {
  const test::AttentionData data(shape, depth + rows, 1);
  test::AttentionSequence sequence(data, std::max(depth, rows));
  if (depth > 0) {  // rows only: nothing reads their attention
    sequence.Begin(depth);
    sequence.End();
  }
  const AttentionSegment segment = sequence.Begin(rows);
  ThreadPool pool(threads);
  Attention attention(pool);
  for (auto _ : state) attention.Run(data.Shape(), std::span(&segment, 1));
  sequence.End();

  const double pairs = VisiblePairs(shape.window, depth, rows);
  const double flops = pairs * shape.q_heads * (shape.k_dim + shape.v_dim) * 2;
  const double bytes = pairs / rows * shape.kv_heads * (shape.k_dim + shape.v_dim) * 2;
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  if (rows == 1)
    state.counters["GB/s"] =
        benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void RegisterAll() {
  for (const test::AttentionCase& shape : kShapes) {
    for (const uint32_t threads : {1U, 2U}) {
      for (const uint32_t rows : {1U, 512U}) {
        for (const uint32_t depth : {0U, 4096U, 16384U}) {
          if (depth == 0 && rows == 1) continue;
          const std::string name = std::string(shape.name) + "/depth:" + std::to_string(depth) +
                                   "/rows:" + std::to_string(rows) +
                                   "/threads:" + std::to_string(threads);
          benchmark::RegisterBenchmark(
              name.c_str(),
              [=](benchmark::State& state) { AttendRows(state, shape, depth, rows, threads); })
              ->UseRealTime()
              ->Unit(benchmark::kMicrosecond);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  weir::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
}
