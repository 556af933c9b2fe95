// The planes of a KV tile: one layer's K or V of 128 consecutive positions of one group.
//
// f16 planes (both coded on write: a row is final once written):
//   K  [kv_head][k_dim][128]   dimension-major: scores of 16 tokens fill one vector
//   V  [kv_head][128][v_dim]   token-major: outputs of 16 dimensions fill one vector
// f32 planes: the same without rounding; what tests compare 16 bits with.
// opaque planes: a byte an element, laid out by a caller that knows its own rows (include/weir/);
// the row functions below refuse them. Conversion f32 -> f16 rounds to nearest even; beyond f16's
// range becomes +-65504 (counted nowhere: trained models stay far inside). NaN stays NaN.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir {

inline constexpr uint32_t kTileTokens = 128;

enum class KvFormat : uint8_t { kF16, kF32, kOpaque };

[[nodiscard]] std::string_view NameOf(KvFormat format);

// A format whose scales belong to a whole tile, so that a plane can only be coded when row 128 is
// there. A query in tile j sees codes of tiles < j - r and 16-bit rows of tiles j - r .. j.
struct TileCodec {
  std::string_view name;
  uint32_t residual_tiles = 0;  // r
  // Codes one whole plane from its 16-bit form (kF16's layout). Which bytes come out depends on
  // these 128 rows alone.
  void (*encode_keys)(const std::byte* rows, uint32_t heads, uint32_t dim,
                      std::byte* codes) = nullptr;
  void (*encode_values)(const std::byte* rows, uint32_t heads, uint32_t dim,
                        std::byte* codes) = nullptr;
};

// Bytes of one plane of `heads` heads of `dim`.
[[nodiscard]] uint64_t PlaneBytes(KvFormat format, uint32_t heads, uint32_t dim);

// Writes the row of position `slot` (0..127) of a tile. row: [heads, dim] f32. No other slot's
// bytes change, so rows of different slots may be written by different threads at once.
void WriteKeyRow(KvFormat format, std::span<const float> row, uint32_t heads, uint32_t dim,
                 uint32_t slot, std::byte* plane);
void WriteValueRow(KvFormat format, std::span<const float> row, uint32_t heads, uint32_t dim,
                   uint32_t slot, std::byte* plane);

// Reads a row back, as attention sees it. row: [heads, dim] f32, overwritten.
void ReadKeyRow(KvFormat format, const std::byte* plane, uint32_t heads, uint32_t dim,
                uint32_t slot, std::span<float> row);
void ReadValueRow(KvFormat format, const std::byte* plane, uint32_t heads, uint32_t dim,
                  uint32_t slot, std::span<float> row);

}  // namespace weir
