// Panels times row blocks on the tile unit (AMX-INT8): one tile product a block of 32 columns gives
// the exact integer sums of 16 rows by 16 outputs, which are then scaled and added as everywhere.
// The rest is the avx512 path's.
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false, in GCC 12's own avx512fintrin.h
#endif
#include <immintrin.h>

#include <algorithm>

#include "quant/block_format.h"
#include "quant/matmul_kernels.h"
#include "simd/amx.h"

#define WEIR_AMX __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,amx-tile,amx-int8")))

namespace weir {
namespace {

constexpr uint32_t kRows = Activations::kRowBlock;
static_assert(kRows == 16 && kGroupRows == 16, "a tile has 16 rows of 16 sums");

// Tiles 0..3: sums of four products in flight. Tiles 4, 5: activations [16 rows][columns]; 6, 7:
// weights [quads][16 outputs x 4]. A product has the 32 columns of a block, or 16 (kK16).
constexpr TileConfig MakeConfig(uint8_t columns) {
  TileConfig config;
  const auto shape = [&](int tile, uint8_t rows, uint16_t row_bytes) {
    config.rows[tile] = rows;
    config.row_bytes[tile] = row_bytes;
  };
  for (const int sums : {0, 1, 2, 3}) shape(sums, 16, 64);
  for (const int activations : {4, 5}) shape(activations, 16, columns);
  for (const int weights : {6, 7}) shape(weights, columns / 4, 64);
  return config;
}

constexpr TileConfig kBlockConfig = MakeConfig(32);
constexpr TileConfig kHalfBlockConfig = MakeConfig(16);

WEIR_AMX void BeginPanels(WeightType type) {
  const bool halves = BlockFormatOf(type).scale_kind == ScaleKind::kK16;
  _tile_loadconfig(halves ? &kHalfBlockConfig : &kBlockConfig);
}

WEIR_AMX void EndPanels() { _tile_release(); }

// The avx512 path's panel with its offsets subtracted: codes become signed.
WEIR_AMX void UnpackPanel(WeightType type, uint32_t cols, const std::byte* group,
                          PanelBlock* panel) {
  Avx512MatMulKernels().unpack_panel(type, cols, group, panel);
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(BlockFormatOf(type).offset));
  for (size_t block = 0; block < cols / kBlockCols; ++block) {
    for (auto& quad : panel[block].codes) {
      _mm512_store_si512(quad, _mm512_sub_epi8(_mm512_load_si512(quad), offset));
    }
  }
}

using Sums = int32_t[kRows][kGroupRows];

// acc[m] += sums of row m, scaled.
WEIR_AMX inline void AddSums(const Sums& sums, const float* scale, const ConstActivationBlock& x,
                             __m512 (&acc)[kRows]) {
  const __m512 weight_scale = _mm512_load_ps(scale);
#pragma GCC unroll 16
  for (uint32_t m = 0; m < kRows; ++m) {
    const __m512 both = _mm512_mul_ps(weight_scale, _mm512_set1_ps(x.scale[m]));
    acc[m] = _mm512_fmadd_ps(both, _mm512_cvtepi32_ps(_mm512_load_si512(sums[m])), acc[m]);
  }
}

WEIR_AMX inline void AddAddends(const PanelBlock& block, const ConstActivationBlock& x,
                                __m512 (&acc)[kRows]) {
  const __m512 addend = _mm512_load_ps(block.addend);
#pragma GCC unroll 16
  for (uint32_t m = 0; m < kRows; ++m) {
    acc[m] = _mm512_fmadd_ps(addend, _mm512_set1_ps(x.scaled_sum[m]), acc[m]);
  }
}

// What one tile product reads: a block's activations and weights, or half a block's.
struct Operands {
  const int8_t* activations;
  const uint8_t* weights;
};

template <bool kHalves>
WEIR_AMX inline Operands OperandsOf(const GroupProduct& product, size_t index) {
  const auto* panel = reinterpret_cast<const PanelBlock*>(product.weights);
  const size_t block = kHalves ? index / 2 : index;
  const size_t half = kHalves ? index % 2 : 0;
  const ConstActivationBlock x(product.x, block, product.rows);
  return {x.codes + half * 16, panel[block].codes[half * 4]};
}

constexpr size_t kInFlight = 4;

// A macro, because the intrinsics want the numbers of tiles as literals.
#define WEIR_BEGIN_PRODUCT(sums_tile, activations_tile, weights_tile, operands) \
  do {                                                                          \
    const Operands from = operands;                                             \
    _tile_zero(sums_tile);                                                      \
    _tile_loadd(activations_tile, from.activations, kBlockCols);                \
    _tile_loadd(weights_tile, from.weights, 64);                                \
    _tile_dpbssd(sums_tile, activations_tile, weights_tile);                    \
  } while (false)

// Products [first, first + count) of a group's, count <= 4: a product's result is there long after
// it was begun, so all are begun before the first is stored.
template <bool kHalves>
WEIR_AMX inline void MultiplyBlocks(const GroupProduct& product, size_t first, size_t count,
                                    Sums* sums) {
  // A product past the last repeats it and is not used.
  const auto operands = [&](size_t i) WEIR_AMX {
    return OperandsOf<kHalves>(product, first + (i < count ? i : count - 1));
  };
  WEIR_BEGIN_PRODUCT(0, 4, 6, operands(0));
  WEIR_BEGIN_PRODUCT(1, 5, 7, operands(1));
  WEIR_BEGIN_PRODUCT(2, 4, 6, operands(2));
  WEIR_BEGIN_PRODUCT(3, 5, 7, operands(3));
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
}

// Always all 16 rows; those past product.rows are read from what follows and not written.
template <ScaleKind kKind>
WEIR_AMX void MultiplyRows(const GroupProduct& product) {
  constexpr bool kHalves = kKind == ScaleKind::kK16;
  constexpr bool kAddends = kKind == ScaleKind::kAffine || kKind == ScaleKind::kK;
  constexpr size_t kBlocks = kHalves ? kInFlight / 2 : kInFlight;  // multiplied at a time
  const auto* panel = reinterpret_cast<const PanelBlock*>(product.weights);
  const size_t block_count = product.cols / kBlockCols;
  const size_t product_count = kHalves ? block_count * 2 : block_count;
  const auto multiply = [&](size_t first_block, Sums* sums) WEIR_AMX {
    const size_t first = kHalves ? first_block * 2 : first_block;
    MultiplyBlocks<kHalves>(product, first, std::min(kInFlight, product_count - first), sums);
  };
  alignas(64) Sums sums[2][kInFlight];  // one half is added while the other is multiplied
  __m512 acc[kRows];
#pragma GCC unroll 16
  for (auto& row : acc) row = _mm512_setzero_ps();

  multiply(0, sums[0]);
  size_t turn = 0;
  for (size_t first = 0; first < block_count; first += kBlocks, turn ^= 1U) {
    if (first + kBlocks < block_count) multiply(first + kBlocks, sums[turn ^ 1U]);
    const size_t end = std::min(first + kBlocks, block_count);
    const Sums* ready = sums[turn];
    for (size_t block = first; block < end; ++block) {
      const ConstActivationBlock x(product.x, block, product.rows);
      AddSums(*ready++, panel[block].scale, x, acc);
      if constexpr (kHalves) AddSums(*ready++, panel[block].high_scale, x, acc);
      if constexpr (kAddends) AddAddends(panel[block], x, acc);
    }
  }
#pragma GCC unroll 16
  for (uint32_t m = 0; m < kRows; ++m) {
    if (m < product.rows) _mm512_storeu_ps(product.y + m * product.y_stride, acc[m]);
  }
}

void MultiplyPanel(const GroupProduct& product) {
  switch (BlockFormatOf(product.type).scale_kind) {
    case ScaleKind::kPlain:
      return MultiplyRows<ScaleKind::kPlain>(product);
    case ScaleKind::kAffine:
      return MultiplyRows<ScaleKind::kAffine>(product);
    case ScaleKind::kK:
      return MultiplyRows<ScaleKind::kK>(product);
    case ScaleKind::kK16:
      return MultiplyRows<ScaleKind::kK16>(product);
  }
}

}  // namespace

const MatMulKernels& AmxMatMulKernels() {
  static const MatMulKernels kernels = {
      .multiply_packed = Avx512MatMulKernels().multiply_packed,
      .multiply_panel = MultiplyPanel,
      .unpack_panel = UnpackPanel,
      .panel_from_rows = 16,
      .begin_panels = BeginPanels,
      .end_panels = EndPanels,
      .quantize = Avx512MatMulKernels().quantize,
  };
  return kernels;
}

}  // namespace weir
#endif  // __x86_64__
