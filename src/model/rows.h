// Loops over the rows of a step, a row an index of the pool.
//
// A matrix here is [rows, columns] f32, row-major, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/thread_pool.h"
#include "kv/sequence_view.h"

namespace weir {

// One position of one sequence in a step.
struct StepRow {
  KvChunk* chunk = nullptr;
  uint32_t position = 0;
  TokenId token;
};

// The rows of one sequence: [first_row, first_row + row_count) of the step.
struct StepSegment {
  KvChunk* chunk = nullptr;
  uint32_t first_row = 0;
  uint32_t row_count = 0;
};

struct Step {
  std::span<const StepRow> rows;
  std::span<const StepSegment> segments;
  [[nodiscard]] uint32_t row_count() const { return static_cast<uint32_t>(rows.size()); }
};

[[nodiscard]] inline std::span<float> RowOf(float* matrix, uint32_t row, uint32_t columns) {
  return {matrix + size_t{row} * columns, columns};
}
[[nodiscard]] inline std::span<const float> RowOf(const float* matrix, uint32_t row,
                                                  uint32_t columns) {
  return {matrix + size_t{row} * columns, columns};
}

// body(row) for every row.
template <class Body>
void ForRows(ThreadPool& pool, uint32_t rows, const Body& body) {
  pool.ParallelFor(rows, [&body](uint32_t row, uint32_t) { body(row); });
}

}  // namespace weir
