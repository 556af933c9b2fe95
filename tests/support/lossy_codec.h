// A KV format coded per tile that exists only in tests: it loses enough for a query that reads the
// wrong form of a row to show.
//
// K: per channel over the tile's 128 rows; V: per row and head. 4 bit between minimum and maximum,
// written back as f16, so that planes keep kF16's layout (quant/kv_tile.h) and the attention that
// reads f16 reads codes.
//
// Pure functions, any thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quant/kv_tile.h"
#include "simd/half.h"

namespace weir::test {

// 16 levels from the smallest to the largest of `count` consecutive halves.
inline void CodeRun(const std::byte* from, size_t count, std::byte* to) {
  std::vector<uint16_t> halves(count);
  std::memcpy(halves.data(), from, count * sizeof(uint16_t));
  std::vector<float> values;
  for (const uint16_t half : halves) values.push_back(HalfToFloat(half));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const float min = *low;
  const float scale = (*high - min) / 15;
  for (size_t i = 0; i < count; ++i) {
    const float code = scale == 0 ? 0 : std::round((values[i] - min) / scale);
    halves[i] = FloatToHalf(std::fma(code, scale, min));
  }
  std::memcpy(to, halves.data(), count * sizeof(uint16_t));
}

inline void CodeRuns(const std::byte* rows, size_t runs, size_t run_elements, std::byte* codes) {
  const size_t bytes = run_elements * sizeof(uint16_t);
  for (size_t run = 0; run < runs; ++run) {
    CodeRun(rows + run * bytes, run_elements, codes + run * bytes);
  }
}

inline void LossyKeys(const std::byte* rows, uint32_t heads, uint32_t dim, std::byte* codes) {
  CodeRuns(rows, size_t{heads} * dim, kTileTokens, codes);
}

inline void LossyValues(const std::byte* rows, uint32_t heads, uint32_t dim, std::byte* codes) {
  CodeRuns(rows, size_t{heads} * kTileTokens, dim, codes);
}

inline constexpr TileCodec kLossyR0{.name = "lossy-r0",
                                    .residual_tiles = 0,
                                    .encode_keys = LossyKeys,
                                    .encode_values = LossyValues};
inline constexpr TileCodec kLossyR1{.name = "lossy-r1",
                                    .residual_tiles = 1,
                                    .encode_keys = LossyKeys,
                                    .encode_values = LossyValues};

}  // namespace weir::test
