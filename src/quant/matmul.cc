#include "quant/matmul.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "quant/matmul_kernels.h"

namespace weir {
namespace {

// Weight bytes that are worth handing to a thread (microseconds of reading).
constexpr uint64_t kTaskBytes = 32 << 10;

// Runs `kernel`, through a copy where the group's 16 outputs do not all exist.
void Multiply(void (*kernel)(const GroupProduct&), GroupProduct product, uint32_t outputs) {
  if (outputs == kGroupRows) return kernel(product);
  float copy[Activations::kRowBlock * kGroupRows];
  float* const y = product.y;
  const uint32_t y_stride = product.y_stride;
  product.y = copy;
  product.y_stride = kGroupRows;
  kernel(product);
  for (size_t m = 0; m < product.rows; ++m) {
    std::memcpy(y + m * y_stride, copy + m * kGroupRows, outputs * sizeof(float));
  }
}

}  // namespace

void Activations::Set(const float* values, uint32_t rows, uint32_t cols) {
  values_ = values;
  rows_ = rows;
  cols_ = cols;
  quantized_ = false;
}

void Activations::Quantize(ThreadPool& pool) {
  if (quantized_) return;
  WEIR_CHECK(cols_ % kBlockCols == 0);
  blocks_.EnsureCount(static_cast<size_t>(rows_) * (cols_ / kBlockCols));
  const MatMulKernels& kernels = ChosenMatMulKernels();
  pool.ParallelFor(row_block_count(), [&](uint32_t row_block, uint32_t) {
    const size_t first_row = static_cast<size_t>(row_block) * kRowBlock;
    kernels.quantize(values_ + first_row * cols_, RowsOf(row_block), cols_,
                     blocks_.data() + first_row * (cols_ / kBlockCols));
  });
  quantized_ = true;
}

void MatMul(const PackedMatrix& weights, Activations& x, float* y, uint32_t y_stride,
            ThreadPool& pool) {
  WEIR_CHECK(x.cols() == weights.cols());
  const bool quantized = IsQuantized(weights.type());
  if (quantized) x.Quantize(pool);
  const MatMulKernels& kernels = ChosenMatMulKernels();
  const uint64_t group_bytes = PackedLayoutOf(weights.type(), weights.cols()).group_bytes;
  const uint32_t group_count = (weights.rows() + kGroupRows - 1) / kGroupRows;

  // Spreading a group's bits out costs about one row block's work and spares it to each of them.
  const bool use_panel = quantized && x.row_block_count() > 1;
  const size_t panel_bytes = use_panel ? x.cols() / kBlockCols * sizeof(PanelBlock) : 0;
  x.unpacked_.EnsureCount(panel_bytes * pool.thread_count());

  const auto multiply_group = [&](uint32_t group, uint32_t thread) {
    const std::byte* packed = weights.data() + group * group_bytes;
    const std::byte* source = packed;
    if (use_panel) {
      std::byte* panel = x.unpacked_.data() + thread * panel_bytes;
      kernels.unpack_panel(weights.type(), x.cols(), packed, reinterpret_cast<PanelBlock*>(panel));
      source = panel;
    }
    const uint32_t first_output = group * kGroupRows;
    const uint32_t outputs = std::min(kGroupRows, weights.rows() - first_output);
    for (uint32_t row_block = 0; row_block < x.row_block_count(); ++row_block) {
      const size_t first_row = static_cast<size_t>(row_block) * Activations::kRowBlock;
      Multiply(use_panel ? kernels.multiply_panel : kernels.multiply_packed,
               {.type = weights.type(),
                .cols = x.cols(),
                .weights = source,
                .x = quantized ? x.BlocksOf(row_block) : nullptr,
                .x_values = x.values() + first_row * x.cols(),
                .rows = x.RowsOf(row_block),
                .y = y + first_row * y_stride + first_output,
                .y_stride = y_stride},
               outputs);
    }
  };

  const uint64_t work_bytes = group_bytes * std::max(1U, x.row_block_count());
  const auto groups_per_task =
      static_cast<uint32_t>(std::max<uint64_t>(1, kTaskBytes / work_bytes));
  const uint32_t tasks = (group_count + groups_per_task - 1) / groups_per_task;
  pool.ParallelFor(tasks, [&](uint32_t task, uint32_t thread) {
    const uint32_t end = std::min(group_count, (task + 1) * groups_per_task);
    for (uint32_t group = task * groups_per_task; group < end; ++group) {
      multiply_group(group, thread);
    }
  });
}

}  // namespace weir
