#include "attn/row_block.h"

#include <algorithm>

#include "base/check.h"
#include "simd/math.h"

namespace weir {
namespace {

// Below this many rows a tile is read as it is; from here on widening it once pays.
constexpr uint32_t kWidenFromRows = 24;

// Keys of a tile that a row sees: slots [begin, end).
struct SlotRange {
  uint32_t begin = 0;
  uint32_t end = 0;
};

SlotRange VisibleSlots(const RowBlock& block, uint32_t row, uint32_t tile) {
  const uint32_t first = tile * kTileTokens;
  const auto slot = [first](uint32_t position) {
    return position < first ? 0 : std::min(position - first, kTileTokens);
  };
  return {slot(block.FirstKeyOf(row)), slot(block.PositionOf(row) + 1)};
}

// A tile-head's K and V as the products read them.
template <class T>
struct Operands {
  const T* keys;    // [k_dim, 128]
  const T* values;  // [128, value_stride]
  size_t value_stride;
  const T* next_keys = nullptr;  // those of the next tile, null if this thread reads none
};

void Multiply(const AttentionKernels& kernels, const Product<uint16_t>& product) {
  kernels.multiply_half(product);
}
void Multiply(const AttentionKernels& kernels, const Product<float>& product) {
  kernels.multiply_float(product);
}

// Scores, softmax and value mix of rows [first_row, first_row + rows) of a block over one tile, of
// which each sees something. queries, probabilities and state begin at first_row.
template <class T>
void AttendRows(const AttentionKernels& kernels, const RowBlock& block, uint32_t tile,
                uint32_t first_row, uint32_t rows, const Operands<T>& tile_head,
                const float* queries, float* probabilities, const StateRows& state) {
  const AttentionShape& shape = *block.shape;
  const size_t columns = PaddedColumns(shape.v_dim);
  // Both ends of what a row sees grow with the row: some row sees each slot of [first.begin,
  // last.end), all rows see [last.begin, first.end).
  const SlotRange first = VisibleSlots(block, first_row, tile);
  const SlotRange last = VisibleSlots(block, first_row + rows - 1, tile);
  const uint32_t begin = first.begin / 16 * 16;
  Multiply(kernels, Product<T>{.a = queries,
                               .a_stride = shape.k_dim,
                               .b = tile_head.keys + begin,
                               .b_stride = kTileTokens,
                               .c = probabilities + begin,
                               .c_stride = kTileTokens,
                               .rows = rows,
                               .inner = shape.k_dim,
                               .columns = last.end - begin,
                               .ahead = tile_head.values,
                               .ahead_count = last.end * tile_head.value_stride});

  std::fill_n(state.out, rows * columns, 0.0F);
  const size_t next_count = tile_head.next_keys == nullptr ? 0 : shape.k_dim * kTileTokens;
  const auto mix = [&](uint32_t row, uint32_t row_count, SlotRange slots) {
    if (slots.begin >= slots.end) return;
    Multiply(kernels, Product<T>{.a = probabilities + row * kTileTokens + slots.begin,
                                 .a_stride = kTileTokens,
                                 .b = tile_head.values + slots.begin * tile_head.value_stride,
                                 .b_stride = tile_head.value_stride,
                                 .c = state.out + row * columns,
                                 .c_stride = columns,
                                 .rows = row_count,
                                 .inner = slots.end - slots.begin,
                                 .columns = shape.v_dim,
                                 .start = ProductStart::kAdd,
                                 .ahead = tile_head.next_keys,
                                 .ahead_count = next_count});
  };
  // Slots ascend for each row: its own before the common ones, these for all rows, its own after.
  const SlotRange common{last.begin, std::max(last.begin, first.end)};
  for (uint32_t row = 0; row < rows; ++row) {
    const SlotRange slots = VisibleSlots(block, first_row + row, tile);
    state.stats[row] =
        kernels.softmax(probabilities + row * kTileTokens, slots.begin, slots.end, shape.softcap);
    mix(row, 1, {slots.begin, std::min(slots.end, common.begin)});
  }
  mix(0, rows, common);
  for (uint32_t row = 0; row < rows; ++row) {
    const SlotRange slots = VisibleSlots(block, first_row + row, tile);
    mix(row, 1, {std::max(slots.begin, common.end), slots.end});
  }
}

}  // namespace

uint32_t RowBlock::FirstKeyOf(uint32_t row) const {
  const uint32_t position = PositionOf(row);
  const uint32_t seen =
      shape->window == 0 || position < shape->window ? 0 : position - shape->window + 1;
  return std::max(seen, segment->tiles.first_position);
}

void StateBuffer::EnsureRows(size_t rows, size_t columns) {
  stats_.EnsureCount(rows);
  out_.EnsureCount(rows * columns);
}

void BlockWorkspace::Prepare(const AttentionShape& shape, uint32_t rows) {
  const size_t columns = PaddedColumns(shape.v_dim);
  queries_.EnsureCount(size_t{rows} * shape.k_dim);
  keys_.EnsureCount(size_t{shape.k_dim} * kTileTokens);
  values_.EnsureCount(kTileTokens * columns);
  probabilities_.EnsureCount(size_t{rows} * kTileTokens);
  tile_state_.EnsureRows(rows, columns);
  split_state_.EnsureRows(rows, columns);
  total_state_.EnsureRows(rows, columns);
}

void BlockWorkspace::LoadQueries(const RowBlock& block) {
  const AttentionShape& shape = *block.shape;
  const size_t head_floats = size_t{block.group()} * shape.k_dim;
  for (uint32_t position = 0; position < block.count; ++position) {
    const float* from = block.segment->queries +
                        size_t{block.first + position} * shape.q_heads * shape.k_dim +
                        block.kv_head * head_floats;
    float* to = queries_.data() + position * head_floats;
    for (size_t i = 0; i < head_floats; ++i) to[i] = from[i] * shape.scale;
  }
}

void BlockWorkspace::AttendSplit(const AttentionKernels& kernels, const RowBlock& block,
                                 uint32_t split, const StateRows& state) {
  EmptyStates(state, block.row_count());
  const uint32_t first = std::max(split * kSplitTiles, block.FirstKeyOf(0) / kTileTokens);
  const uint32_t end = std::min((split + 1) * kSplitTiles,
                                block.PositionOf(block.row_count() - 1) / kTileTokens + 1);
  for (uint32_t tile = first; tile < end; ++tile) AttendTile(kernels, block, tile, end, state);
}

void BlockWorkspace::AttendTile(const AttentionKernels& kernels, const RowBlock& block,
                                uint32_t tile, uint32_t end_tile, const StateRows& state) {
  const AttentionShape& shape = *block.shape;
  const TileTable& table = block.segment->tiles;
  WEIR_DCHECK(tile >= table.first_tile && tile - table.first_tile < table.tiles.size());
  const size_t columns = PaddedColumns(shape.v_dim);
  const size_t keys_at = size_t{block.kv_head} * shape.k_dim * kTileTokens;
  const size_t values_at = size_t{block.kv_head} * kTileTokens * shape.v_dim;
  const uint32_t query_tile = block.PositionOf(0) / kTileTokens;  // of every row, if any is owed
  const TilePlanes* planes = &table.PlanesFor(tile, query_tile);
  const KvFormat format = table.IsOwed(tile, query_tile) ? KvFormat::kF16 : table.format;
  const Operands<uint16_t> halves{
      .keys = reinterpret_cast<const uint16_t*>(planes->keys) + keys_at,
      .values = reinterpret_cast<const uint16_t*>(planes->values) + values_at,
      .value_stride = shape.v_dim,
      .next_keys = tile + 1 < end_tile ? reinterpret_cast<const uint16_t*>(
                                             table.PlanesFor(tile + 1, query_tile).keys) +
                                             keys_at
                                       : nullptr};
  const Operands<float> floats{
      .keys = keys_.data(), .values = values_.data(), .value_stride = columns};

  // Rows before the tile come first; rows whose window has left it come last.
  uint32_t begin = 0;
  uint32_t end = block.row_count();
  while (block.PositionOf(begin) < tile * kTileTokens) ++begin;
  while (block.FirstKeyOf(end - 1) >= (tile + 1) * kTileTokens) --end;

  const uint32_t rows = end - begin;
  const bool as_floats =
      format != KvFormat::kF16 || rows >= kWidenFromRows || columns != shape.v_dim;
  const float* queries = queries_.data() + size_t{begin} * shape.k_dim;
  const StateRows tile_state = tile_state_.At(0, columns);
  if (as_floats) {
    LoadTileHead(kernels, shape, format, block.kv_head, *planes);
    AttendRows(kernels, block, tile, begin, rows, floats, queries, probabilities_.data(),
               tile_state);
  } else {
    AttendRows(kernels, block, tile, begin, rows, halves, queries, probabilities_.data(),
               tile_state);
  }
  FoldStates(kernels, {state.stats + begin, state.out + begin * columns}, tile_state, rows,
             columns);
}

void BlockWorkspace::LoadTileHead(const AttentionKernels& kernels, const AttentionShape& shape,
                                  KvFormat format, uint32_t kv_head, const TilePlanes& planes) {
  const size_t keys_at = size_t{kv_head} * shape.k_dim * kTileTokens;
  const size_t values_at = size_t{kv_head} * kTileTokens * shape.v_dim;
  const size_t columns = PaddedColumns(shape.v_dim);
  if (format == KvFormat::kF16) {
    kernels.widen(reinterpret_cast<const uint16_t*>(planes.keys) + keys_at, kTileTokens,
                  keys_.data(), kTileTokens, shape.k_dim, kTileTokens);
    kernels.widen(reinterpret_cast<const uint16_t*>(planes.values) + values_at, shape.v_dim,
                  values_.data(), columns, kTileTokens, shape.v_dim);
    return;
  }
  WEIR_DCHECK(format == KvFormat::kF32);
  const float* values = reinterpret_cast<const float*>(planes.values) + values_at;
  std::copy_n(reinterpret_cast<const float*>(planes.keys) + keys_at,
              size_t{shape.k_dim} * kTileTokens, keys_.data());
  for (size_t token = 0; token < kTileTokens; ++token) {
    std::copy_n(values + token * shape.v_dim, shape.v_dim, values_.data() + token * columns);
  }
}

void EmptyStates(const StateRows& state, uint32_t rows) {
  std::fill_n(state.stats, rows, SoftmaxStats{});
}

void FoldStates(const AttentionKernels& kernels, const StateRows& into, const StateRows& from,
                uint32_t rows, size_t columns) {
  for (uint32_t row = 0; row < rows; ++row) {
    if (from.stats[row].sum == 0.0F) continue;
    kernels.fold(into.stats[row], into.out + row * columns, from.stats[row],
                 from.out + row * columns, columns);
  }
}

void FinishRows(const RowBlock& block, const StateRows& total) {
  const AttentionShape& shape = *block.shape;
  const size_t columns = PaddedColumns(shape.v_dim);
  for (uint32_t row = 0; row < block.row_count(); ++row) {
    const uint32_t head = block.kv_head * block.group() + row % block.group();
    const SoftmaxStats& stats = total.stats[row];
    float numerator = 1.0F;
    float denominator = stats.sum;
    if (!shape.sinks.empty()) {
      const float max = std::max(stats.max, shape.sinks[head]);
      numerator = Exp(stats.max - max);
      denominator = std::fma(stats.sum, numerator, Exp(shape.sinks[head] - max));
    }
    const float scale = numerator / denominator;
    const size_t position = block.first + row / block.group();
    float* to = block.segment->out + (position * shape.q_heads + head) * shape.v_dim;
    const float* from = total.out + row * columns;
    for (uint32_t n = 0; n < shape.v_dim; ++n) to[n] = from[n] * scale;
  }
}

}  // namespace weir
