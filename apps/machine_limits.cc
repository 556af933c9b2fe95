#include "machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/aligned.h"
#include "simd/roofline.h"

namespace weir {
namespace {

constexpr uint64_t kLeastBufferBytes = uint64_t{256}
                                       << 20;  // beyond what caches hold for two cores
constexpr uint32_t kPasses = 3;                // of each way
constexpr uint32_t kPrefetchBytes[] = {512, 1024, 2048, 4096, 12288};
constexpr size_t kPieceWords = size_t{1} << 18;  // 2 MiB: threads share a pass evenly
constexpr double kSliceSeconds = 0.004;
constexpr uint32_t kSlices = 4;  // a thread and pass

template <class Work>
double SecondsOf(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double ReadRateAt(uint32_t prefetch_bytes, std::span<const uint64_t> words, ThreadPool& threads) {
  std::atomic<uint64_t> total = 0;  // so that no sum is left out
  const auto pieces = static_cast<uint32_t>((words.size() + kPieceWords - 1) / kPieceWords);
  const auto read_piece = [&](uint32_t piece, uint32_t) {
    const size_t begin = piece * kPieceWords;
    const size_t count = std::min(kPieceWords, words.size() - begin);
    total.fetch_add(SumWords(words.subspan(begin, count), prefetch_bytes),
                    std::memory_order_relaxed);
  };
  double best = 0;
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    const double seconds = SecondsOf([&] { threads.ParallelFor(pieces, read_piece); });
    best = std::max(best, static_cast<double>(words.size_bytes()) / seconds);
  }
  return best;
}

double ReadRate(std::span<const uint64_t> words, ThreadPool& threads) {
  double best = 0;
  for (const uint32_t prefetch_bytes : kPrefetchBytes) {
    best = std::max(best, ReadRateAt(prefetch_bytes, words, threads));
  }
  return best;
}

double MultiplyAddRate(const MultiplyAddLoop& loop, ThreadPool& threads) {
  MultiplyAddInput input;
  input.codes.fill(3);
  input.activations.fill(-5);
  std::atomic<uint32_t> total = 0;
  constexpr uint64_t kTrialRounds = 100000;
  const double trial_seconds = SecondsOf([&] { total = loop.run(input, kTrialRounds); });
  const auto rounds = static_cast<uint64_t>(kTrialRounds * kSliceSeconds / trial_seconds) + 1;
  const uint32_t slices = threads.thread_count() * kSlices;
  const auto run_slice = [&](uint32_t, uint32_t) { total += loop.run(input, rounds); };
  const double operations =
      static_cast<double>(OperationsPerRound(loop)) * static_cast<double>(rounds) * slices;
  double best = 0;
  for (uint32_t pass = 0; pass < kPasses; ++pass) {
    best = std::max(best, operations / SecondsOf([&] { threads.ParallelFor(slices, run_slice); }));
  }
  return best;
}

}  // namespace

MachineLimits MeasureLimits(ThreadPool& threads, uint64_t buffer_bytes) {
  ThreadPool one_thread(1);
  MachineLimits limits;
  {
    const AlignedArray<uint64_t> words(std::max(buffer_bytes, kLeastBufferBytes) / 8);
    const auto fill = [&](uint32_t piece, uint32_t) {  // else all pages are one page of zeros
      const size_t begin = piece * kPieceWords;
      std::fill_n(words.data() + begin, std::min(kPieceWords, words.count() - begin), piece);
    };
    threads.ParallelFor(static_cast<uint32_t>((words.count() + kPieceWords - 1) / kPieceWords),
                        fill);
    limits.one_thread.read_bytes_per_s = ReadRate(words.span(), one_thread);
    limits.all_threads.read_bytes_per_s = ReadRate(words.span(), threads);
  }
  for (const MultiplyAddLoop& loop : MultiplyAddLoopsOf(ChosenIsa())) {
    const double rate = MultiplyAddRate(loop, one_thread);
    if (rate <= limits.one_thread.int8_ops_per_s) continue;
    limits.one_thread.int8_ops_per_s = rate;
    limits.all_threads.int8_ops_per_s = MultiplyAddRate(loop, threads);
    limits.instruction = loop.instruction;
  }
  return limits;
}

}  // namespace weir
