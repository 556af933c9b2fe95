// Matrix kernels against this machine: GB/s of weights for one row (decode), GOP/s for many
// (prefill), beside the bandwidth of plainly reading as many bytes in the same run. See README.md.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "base/aligned.h"
#include "base/thread_pool.h"
#include "quant/matmul.h"
#include "random_data.h"
#include "simd/isa.h"
#include "simd/roofline.h"

namespace weir {
namespace {

struct Shape {
  WeightType type;
  uint32_t rows;
  uint32_t cols;
};

void MatMulRows(benchmark::State& state, Shape shape, uint32_t rows, uint32_t threads) {
  ThreadPool pool(threads);
  const PackedMatrix weights = bench::RandomWeights(shape.type, shape.rows, shape.cols, pool);
  const auto values = bench::RandomValues(static_cast<size_t>(rows) * shape.cols, 2);
  std::vector<float> y(static_cast<size_t>(rows) * shape.rows);
  Activations x;
  for (auto _ : state) {
    x.Set(values.data(), rows, shape.cols);
    MatMul(weights, x, y.data(), shape.rows, pool);
    benchmark::ClobberMemory();
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["GB/s"] = benchmark::Counter(rounds * static_cast<double>(weights.bytes()) * 1e-9,
                                              benchmark::Counter::kIsRate);
  state.counters["GOP/s"] = benchmark::Counter(rounds * 2e-9 * rows * shape.rows * shape.cols,
                                               benchmark::Counter::kIsRate);
}

// Sums `bytes` of 64-bit words with all threads.
void ReadBandwidth(benchmark::State& state, uint64_t bytes, uint32_t threads) {
  ThreadPool pool(threads);
  const AlignedArray<uint64_t> words(bytes / 8);
  for (uint64_t& word : words.span()) word = 1;
  constexpr uint32_t kChunk = 8192;
  constexpr uint32_t kAheadBytes = 8 << 10;  // as the kernels
  for (auto _ : state) {
    std::atomic<uint64_t> total = 0;
    pool.ParallelFor(static_cast<uint32_t>(words.count() / kChunk), [&](uint32_t chunk, uint32_t) {
      total.fetch_add(SumWords(words.span().subspan(size_t{chunk} * kChunk, kChunk), kAheadBytes),
                      std::memory_order_relaxed);
    });
    benchmark::DoNotOptimize(total.load());
  }
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(bytes) * 1e-9,
      benchmark::Counter::kIsRate);
}

void PackMatrix(benchmark::State& state, Shape shape, uint32_t threads) {
  ThreadPool pool(threads);
  const std::vector<std::byte> bytes(RowBytes(shape.type, shape.cols) * shape.rows);
  for (auto _ : state) {
    Arena arena;
    benchmark::DoNotOptimize(
        PackedMatrix::Pack({shape.type, shape.rows, shape.cols, bytes}, pool, arena).data());
  }
  state.counters["GB/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(bytes.size()) * 1e-9,
      benchmark::Counter::kIsRate);
}

std::string NameOfRun(const char* what, const Shape& shape, uint32_t rows, uint32_t threads) {
  return std::string(what) + "/" + std::string(InfoOf(shape.type).name) + "/" +
         std::to_string(shape.rows) + "x" + std::to_string(shape.cols) +
         "/rows:" + std::to_string(rows) + "/threads:" + std::to_string(threads);
}

void RegisterAll() {
  for (const uint32_t threads : {1U, 2U}) {
    benchmark::RegisterBenchmark(("read/178MB/threads:" + std::to_string(threads)).c_str(),
                                 [=](auto& state) { ReadBandwidth(state, 178 << 20, threads); })
        ->UseRealTime();
  }
  for (uint8_t index = 0; index <= static_cast<uint8_t>(WeightType::kQ6_K); ++index) {
    const auto type = static_cast<WeightType>(index);
    // Beyond the second-level cache; the demo model's output head, and its widest layer.
    const uint32_t big_rows = type == WeightType::kQ8_0 ? 262144U : 65536U;
    const Shape big{type, big_rows, type >= WeightType::kQ4_K ? 768U : 640U};
    benchmark::RegisterBenchmark(NameOfRun("pack", big, 0, 2).c_str(), [=](auto& state) {
      PackMatrix(state, big, 2);
    })->UseRealTime();
    const Shape layer{type, 2048, type >= WeightType::kQ4_K ? 768U : 640U};
    for (const uint32_t threads : {1U, 2U}) {
      benchmark::RegisterBenchmark(NameOfRun("gemv", big, 1, threads).c_str(), [=](auto& state) {
        MatMulRows(state, big, 1, threads);
      })->UseRealTime();
    }
    for (const uint32_t rows : {1U, 4U, 8U, 512U}) {
      benchmark::RegisterBenchmark(NameOfRun("layer", layer, rows, 1).c_str(), [=](auto& state) {
        MatMulRows(state, layer, rows, 1);
      })->UseRealTime();
    }
  }
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  std::printf("isa: %s (WEIR_ISA chooses)\n", std::string(weir::NameOf(weir::ChosenIsa())).c_str());
  weir::RegisterAll();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
