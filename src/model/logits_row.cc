#include "model/logits_row.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace weir {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Independent partial results: enough for the compiler to keep them in vectors.
constexpr size_t kLanes = 16;

}  // namespace

float RowMax(std::span<const float> row) {
  std::array<float, kLanes> lanes;
  lanes.fill(-kInfinity);
  size_t i = 0;
  for (; i + kLanes <= row.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = row[i + lane] > lanes[lane] ? row[i + lane] : lanes[lane];
    }
  }
  for (; i < row.size(); ++i) lanes[0] = row[i] > lanes[0] ? row[i] : lanes[0];
  return CleanLogit(*std::max_element(lanes.begin(), lanes.end()));
}

double SumOfExp(std::span<const float> row, float max, float temperature) {
  std::array<double, kLanes> lanes{};
  std::array<float, 64 * kLanes> terms;
  while (!row.empty()) {
    const size_t count = std::min(row.size(), terms.size());
    ExpRow(row.first(count), max, temperature, terms);
    std::fill(terms.begin() + static_cast<ptrdiff_t>(count), terms.end(), 0.0F);
    for (size_t i = 0; i < terms.size(); i += kLanes) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        lanes[lane] += static_cast<double>(terms[i + lane]);
      }
    }
    row = row.subspan(count);
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

double LogSumExp(std::span<const float> row) {
  const float max = RowMax(row);
  if (max == -kInfinity) return -std::numeric_limits<double>::infinity();
  return static_cast<double>(max) + std::log(SumOfExp(row, max, 1.0F));
}

void TopEntries(std::span<const float> row, uint32_t count, std::vector<RowEntry>& out) {
  out.clear();
  if (count == 0) return;
  // Entries that beat the bar gather; when they are twice as many as wanted, the better half stays
  // and its last one is the new bar.
  const size_t kept = std::min<size_t>(count, row.size());
  const size_t gathered_max = std::max<size_t>(2 * kept, 64);
  float bar = -kInfinity;
  const auto keep_best = [&] {
    if (out.size() <= kept) return;
    const auto last = out.begin() + static_cast<ptrdiff_t>(kept) - 1;
    std::nth_element(out.begin(), last, out.end(), Precedes);
    out.resize(kept);
    bar = out.back().value;  // a later entry of this value comes after it: indices only grow
  };
  for (size_t i = 0; i < row.size(); ++i) {
    if (!(row[i] > bar)) continue;
    out.push_back({CleanLogit(row[i]), static_cast<uint32_t>(i)});
    if (out.size() >= gathered_max) keep_best();
  }
  keep_best();
  std::sort(out.begin(), out.end(), Precedes);
}

void EntriesFrom(std::span<const float> row, float bar, std::vector<RowEntry>& out) {
  out.clear();
  for (size_t i = 0; i < row.size(); ++i) {
    if (!(row[i] >= bar) || row[i] == -kInfinity) continue;
    out.push_back({CleanLogit(row[i]), static_cast<uint32_t>(i)});
  }
  std::sort(out.begin(), out.end(), Precedes);
}

float TailBar(std::span<const float> row, float max, float temperature, double tail_mass) {
  constexpr size_t kSamples = 16384;
  constexpr size_t kBuckets = 256;  // of 1/8 each, in units of temperature below the maximum
  const size_t stride = std::max<size_t>(row.size() / kSamples, 1);
  std::array<uint32_t, kBuckets> counts{};
  for (size_t i = 0; i < row.size(); i += stride) {
    const float bucket = (max - CleanLogit(row[i])) / temperature * 8;
    ++counts[bucket < kBuckets - 1 ? static_cast<size_t>(bucket) : kBuckets - 1];
  }
  double tail = 0;
  for (size_t bucket = kBuckets; bucket-- > 0;) {
    const float below = static_cast<float>(bucket) / 8;  // the least: so the weight is the most
    tail +=
        static_cast<double>(counts[bucket] * stride) * static_cast<double>(ExpNonPositive(-below));
    if (tail <= tail_mass) continue;
    return bucket + 1 == kBuckets ? -kInfinity : max - (below + 0.125F) * temperature;
  }
  return max - 0.125F * temperature;
}

}  // namespace weir
