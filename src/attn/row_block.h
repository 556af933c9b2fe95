// A block of query rows that read the same KV head, and one pass of it over the tiles of a split.
//
// Rows of a block are (position, query head) pairs, positions outermost, so that one read of K and
// V serves all query heads of the KV head. What a row computes never depends on the other rows.
//
// Ownership: borrows everything. Threads: one thread a block and workspace.
#pragma once

#include <cstdint>

#include "attn/attention.h"
#include "attn/attention_kernels.h"
#include "base/aligned.h"

namespace weir {

inline constexpr uint32_t kSplitTiles = 8;  // 1,024 positions

struct RowBlock {
  const AttentionShape* shape = nullptr;
  const AttentionSegment* segment = nullptr;
  uint32_t kv_head = 0;
  uint32_t first = 0;  // of segment->row_count positions
  uint32_t count = 0;

  [[nodiscard]] uint32_t group() const { return shape->q_heads / shape->kv_heads; }
  [[nodiscard]] uint32_t row_count() const { return count * group(); }
  [[nodiscard]] uint32_t PositionOf(uint32_t row) const {
    return segment->first_position + first + row / group();
  }
  // Keys [FirstKeyOf, PositionOf] are visible.
  [[nodiscard]] uint32_t FirstKeyOf(uint32_t row) const;
  [[nodiscard]] uint32_t first_split() const { return FirstKeyOf(0) / kTileTokens / kSplitTiles; }
  [[nodiscard]] uint32_t end_split() const {
    return PositionOf(row_count() - 1) / kTileTokens / kSplitTiles + 1;
  }
};

// Columns of V and of states, padded to whole vectors.
[[nodiscard]] inline size_t PaddedColumns(uint32_t columns) {
  return (size_t{columns} + 15) / 16 * 16;
}

// Softmax states of a block's rows. out: [rows, PaddedColumns(v_dim)].
struct StateRows {
  SoftmaxStats* stats = nullptr;
  float* out = nullptr;
};

// A growing array of StateRows.
class StateBuffer {
 public:
  void EnsureRows(size_t rows, size_t columns);
  [[nodiscard]] StateRows At(size_t row, size_t columns) const {
    return {stats_.data() + row, out_.data() + row * columns};
  }

 private:
  AlignedArray<SoftmaxStats> stats_;
  AlignedArray<float> out_;
};

// One thread's buffers.
class BlockWorkspace {
 public:
  // For blocks of at most `rows` rows of this shape.
  void Prepare(const AttentionShape& shape, uint32_t rows);

  // Scales the block's queries into the workspace: before its first AttendSplit.
  void LoadQueries(const RowBlock& block);
  // Folds the tiles of one split, left to right, into `state`, which it first empties.
  void AttendSplit(const AttentionKernels& kernels, const RowBlock& block, uint32_t split,
                   const StateRows& state);

  [[nodiscard]] StateRows split_state() const { return split_state_.At(0, 0); }
  [[nodiscard]] StateRows total_state() const { return total_state_.At(0, 0); }

 private:
  // One tile of [.., end_tile), the next of which is read ahead.
  void AttendTile(const AttentionKernels& kernels, const RowBlock& block, uint32_t tile,
                  uint32_t end_tile, const StateRows& state);
  // One tile-head to keys_ and values_, whatever its format.
  void LoadTileHead(const AttentionKernels& kernels, const AttentionShape& shape, KvFormat format,
                    uint32_t kv_head, const TilePlanes& planes);

  AlignedArray<float> queries_;        // [rows, k_dim], scaled
  AlignedArray<float> keys_;           // [k_dim, 128], one tile-head as f32
  AlignedArray<float> values_;         // [128, padded v_dim]
  AlignedArray<float> probabilities_;  // [rows, 128]: scores, then exp(score - max)
  StateBuffer tile_state_;
  StateBuffer split_state_;
  StateBuffer total_state_;
};

void EmptyStates(const StateRows& state, uint32_t rows);

// into = fold(into, from), row by row; empty rows of `from` change nothing.
void FoldStates(const AttentionKernels& kernels, const StateRows& into, const StateRows& from,
                uint32_t rows, size_t columns);

// Divides by the denominator (sinks included) and writes the rows of segment->out.
void FinishRows(const RowBlock& block, const StateRows& total);

}  // namespace weir
