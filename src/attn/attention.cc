#include "attn/attention.h"

#include <algorithm>
#include <vector>

#include "attn/attention_kernels.h"
#include "attn/row_block.h"
#include "base/check.h"

namespace weir {
namespace {

// Query rows a block aims at: enough to pay for widening K and V, few enough to stay in L2.
constexpr uint32_t kBlockRows = 192;
// Rows of split states kept at once when the splits of a block run in parallel.
constexpr uint32_t kWaveRows = 4096;

}  // namespace

class AttentionScratch {
 public:
  std::vector<RowBlock> blocks;
  std::vector<BlockWorkspace> workspaces;  // by thread
  StateBuffer splits;                      // [block, split of the wave, row]
  StateBuffer totals;                      // [block, row]
};

namespace {

// Positions of a block that begins at `first`: with owed rows all in one tile, since the tile of a
// query decides what it reads.
uint32_t BlockPositions(const AttentionSegment& segment, uint32_t first, uint32_t most) {
  uint32_t count = std::min(most, segment.row_count - first);
  if (!segment.tiles.owed.empty()) {
    count = std::min(count, kTileTokens - (segment.first_position + first) % kTileTokens);
  }
  return count;
}

void ListBlocks(const AttentionShape& shape, std::span<const AttentionSegment> segments,
                std::vector<RowBlock>& blocks) {
  const uint32_t positions = std::max(1U, kBlockRows / (shape.q_heads / shape.kv_heads));
  blocks.clear();
  for (const AttentionSegment& segment : segments) {
    for (uint32_t first = 0, count = 0; first < segment.row_count; first += count) {
      count = BlockPositions(segment, first, positions);
      for (uint32_t head = 0; head < shape.kv_heads; ++head) {
        blocks.push_back({.shape = &shape,
                          .segment = &segment,
                          .kv_head = head,
                          .first = first,
                          .count = count});
      }
    }
  }
}

void AttendBlock(const AttentionKernels& kernels, const RowBlock& block,
                 BlockWorkspace& workspace) {
  const uint32_t rows = block.row_count();
  const size_t columns = PaddedColumns(block.shape->v_dim);
  const StateRows total = workspace.total_state();
  workspace.LoadQueries(block);
  EmptyStates(total, rows);
  for (uint32_t split = block.first_split(); split < block.end_split(); ++split) {
    workspace.AttendSplit(kernels, block, split, workspace.split_state());
    FoldStates(kernels, total, workspace.split_state(), rows, columns);
  }
  FinishRows(block, total);
}

// The same sums in the same order, with the splits of each block spread over the threads and folded
// afterwards, a wave of splits at a time.
void AttendBySplits(ThreadPool& pool, const AttentionKernels& kernels, AttentionScratch& scratch,
                    uint32_t most_rows, uint32_t most_splits) {
  const std::vector<RowBlock>& blocks = scratch.blocks;
  const auto block_count = static_cast<uint32_t>(blocks.size());
  const size_t columns = PaddedColumns(blocks.front().shape->v_dim);
  const uint32_t wave =
      std::min(most_splits, std::max(pool.thread_count(), kWaveRows / (block_count * most_rows)));
  scratch.splits.EnsureRows(size_t{block_count} * wave * most_rows, columns);
  scratch.totals.EnsureRows(size_t{block_count} * most_rows, columns);
  for (uint32_t b = 0; b < block_count; ++b) {
    EmptyStates(scratch.totals.At(size_t{b} * most_rows, columns), most_rows);
  }
  const auto split_state = [&](uint32_t b, uint32_t i) {
    return scratch.splits.At((size_t{b} * wave + i) * most_rows, columns);
  };
  for (uint32_t done = 0; done < most_splits; done += wave) {
    pool.ParallelFor(block_count * wave, [&](uint32_t index, uint32_t thread) {
      const uint32_t b = index / wave;
      const uint32_t split = blocks[b].first_split() + done + index % wave;
      if (split >= blocks[b].end_split()) return;
      BlockWorkspace& workspace = scratch.workspaces[thread];
      workspace.LoadQueries(blocks[b]);
      workspace.AttendSplit(kernels, blocks[b], split, split_state(b, index % wave));
    });
    pool.ParallelFor(block_count, [&](uint32_t b, uint32_t) {
      const uint32_t splits = blocks[b].end_split() - blocks[b].first_split();
      for (uint32_t i = 0; i < wave && done + i < splits; ++i) {
        FoldStates(kernels, scratch.totals.At(size_t{b} * most_rows, columns), split_state(b, i),
                   blocks[b].row_count(), columns);
      }
    });
  }
  for (uint32_t b = 0; b < block_count; ++b) {
    FinishRows(blocks[b], scratch.totals.At(size_t{b} * most_rows, columns));
  }
}

}  // namespace

Attention::Attention(ThreadPool& pool) : Attention(pool, AttentionKernelsOf(ChosenIsa())) {}

Attention::Attention(ThreadPool& pool, const AttentionKernels& kernels)
    : pool_(pool), kernels_(kernels), scratch_(std::make_unique<AttentionScratch>()) {
  scratch_->workspaces.resize(pool.thread_count());
}

Attention::~Attention() = default;

void Attention::Run(const AttentionShape& shape, std::span<const AttentionSegment> segments) {
  WEIR_CHECK(shape.kv_heads > 0 && shape.q_heads % shape.kv_heads == 0);
  WEIR_CHECK(shape.sinks.empty() || shape.sinks.size() == shape.q_heads);
  ListBlocks(shape, segments, scratch_->blocks);
  const std::vector<RowBlock>& blocks = scratch_->blocks;
  if (blocks.empty()) return;
  uint32_t most_rows = 0;
  uint32_t most_splits = 0;
  for (const RowBlock& block : blocks) {
    most_rows = std::max(most_rows, block.row_count());
    most_splits = std::max(most_splits, block.end_split() - block.first_split());
  }
  for (BlockWorkspace& workspace : scratch_->workspaces) workspace.Prepare(shape, most_rows);
  if (most_splits > 1 && blocks.size() < size_t{2} * pool_.thread_count()) {
    AttendBySplits(pool_, kernels_, *scratch_, most_rows, most_splits);
    return;
  }
  pool_.ParallelFor(static_cast<uint32_t>(blocks.size()), [&](uint32_t index, uint32_t thread) {
    AttendBlock(kernels_, blocks[index], scratch_->workspaces[thread]);
  });
}

}  // namespace weir
