// Reductions over one row of logits (a quarter of a million of them in Gemma's vocabulary).
//
// Fixed summation order, no libm in the loops: the same row gives the same bits on every machine
// and thread. NaN counts as -infinity, +infinity as the largest float, so no row makes a result
// that is not a number.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weir {

struct RowEntry {
  float value = 0;
  uint32_t index = 0;
};

// Larger values first, the smaller index among equals.
[[nodiscard]] inline bool Precedes(const RowEntry& a, const RowEntry& b) {
  return a.value > b.value || (a.value == b.value && a.index < b.index);
}

// A logit as the functions below see it.
[[nodiscard]] inline float CleanLogit(float x) {
  constexpr float kMax = std::numeric_limits<float>::max();
  if (x > kMax) return kMax;
  return x == x ? x : -std::numeric_limits<float>::infinity();
}

// exp(x) for x <= 0; 0 below -87 and for NaN. Relative error <= 2e-7.
[[nodiscard]] inline float ExpNonPositive(float x) {
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x > -87.0F ? x : -87.0F;
  const float n = (clamped * 1.44269504F + kRound) - kRound;
  const float r = (clamped - n * 0.693359375F) - n * -2.12194440e-4F;  // Cody and Waite's ln 2
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto power = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  return x > -87.0F ? p * std::bit_cast<float>(power) : 0.0F;
}

// out[i] = ExpNonPositive((CleanLogit(row[i]) - max) / temperature), bit for bit, by vectors.
void ExpRow(std::span<const float> row, float max, float temperature, std::span<float> out);

// -infinity for an empty row and for one without a number.
[[nodiscard]] float RowMax(std::span<const float> row);

// sum of exp((row[i] - max) / temperature) in double. max = RowMax(row), finite; temperature > 0.
[[nodiscard]] double SumOfExp(std::span<const float> row, float max, float temperature);

// log(sum of exp(row[i])); -infinity when every entry is.
[[nodiscard]] double LogSumExp(std::span<const float> row);

// The `count` foremost entries above -infinity, in order. Replaces `out`; costs one pass over the
// row plus the work on a few multiples of `count` entries.
void TopEntries(std::span<const float> row, uint32_t count, std::vector<RowEntry>& out);

// The entries at or above `bar` and above -infinity, in order. Replaces `out`; costs one pass over
// the row plus a sort of what it finds.
void EntriesFrom(std::span<const float> row, float bar, std::vector<RowEntry>& out);

// A bar below which the entries' weights, as in SumOfExp, sum to about `tail_mass` at most: judged
// by a sample of the row, so the caller checks what it finds. -infinity when every entry counts.
[[nodiscard]] float TailBar(std::span<const float> row, float max, float temperature,
                            double tail_mass);

}  // namespace weir
