#include "quant/matmul.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"
#include "quant/matmul_kernels.h"

namespace weir {
namespace {

constexpr size_t kMostOutputs = 4;

// A task is a fraction of a thread's share, so that threads end together, but at least some
// microseconds of reading, and no more panels than fit in the second-level cache.
constexpr uint64_t kLeastTaskBytes = 32 << 10;
constexpr uint64_t kMostTaskBytes = 1 << 20;
constexpr uint32_t kTasksPerThread = 6;
constexpr uint32_t kPanelsAtOnce = 4;

// Runs `kernel`, through a copy where the group's 16 outputs do not all exist.
void Multiply(void (*kernel)(const GroupProduct&), const GroupProduct& product, uint32_t outputs) {
  if (outputs == kGroupRows) {
    // Rows of y lie apart, mostly in no cache: asked for now, they are there when the sums are.
    for (size_t m = 0; m < product.rows; ++m)
      __builtin_prefetch(product.y + m * product.y_stride, 1);
    return kernel(product);
  }
  float copy[Activations::kRowBlock * kGroupRows];
  GroupProduct copied = product;
  copied.y = copy;
  copied.y_stride = kGroupRows;
  kernel(copied);
  for (size_t m = 0; m < product.rows; ++m) {
    std::memcpy(product.y + m * product.y_stride, copy + m * kGroupRows, outputs * sizeof(float));
  }
}

}  // namespace

void Activations::Set(const float* values, uint32_t rows, uint32_t cols) {
  values_ = values;
  rows_ = rows;
  cols_ = cols;
  quantized_ = false;
}

void Activations::EnsureBlocks() {
  WEIR_CHECK(cols_ % kBlockCols == 0);
  blocks_.EnsureCount((size_t{rows_} * (cols_ / kBlockCols) + kRowBlock) * kRowBytes);
}

void Activations::QuantizeRowBlock(uint32_t row_block) {
  const size_t first_row = static_cast<size_t>(row_block) * kRowBlock;
  ChosenMatMulKernels().quantize(values_ + first_row * cols_, RowsOf(row_block), cols_,
                                 blocks_.data() + BlockBytesBefore(row_block));
}

void Activations::Quantize(ThreadPool& pool) {
  if (quantized_) return;
  EnsureBlocks();
  pool.ParallelFor(row_block_count(),
                   [&](uint32_t row_block, uint32_t) { QuantizeRowBlock(row_block); });
  quantized_ = true;
}

namespace {

// One of the products of a MatMul, cut into tasks of whole groups.
struct ProductTasks {
  MatMulOutput output;
  uint64_t group_bytes = 0;
  uint32_t group_count = 0;
  uint32_t groups_per_task = 0;
  uint32_t task_count = 0;
  bool use_panel = false;
};

// One group, packed or as a panel, times one row block.
void MultiplyGroup(const MatMulKernels& kernels, const ProductTasks& product, uint32_t group,
                   const std::byte* source, const Activations& x, uint32_t row_block) {
  const PackedMatrix& weights = *product.output.weights;
  const uint32_t first_output = group * kGroupRows;
  const size_t first_row = static_cast<size_t>(row_block) * Activations::kRowBlock;
  Multiply(product.use_panel ? kernels.multiply_panel : kernels.multiply_packed,
           {.type = weights.type(),
            .cols = x.cols(),
            .weights = source,
            .x = IsQuantized(weights.type()) ? x.BlocksOf(row_block) : nullptr,
            .x_values = x.values() + first_row * x.cols(),
            .rows = x.RowsOf(row_block),
            .y = product.output.y + first_row * product.output.y_stride + first_output,
            .y_stride = product.output.y_stride},
           std::min(kGroupRows, weights.rows() - first_output));
}

// All groups of one task times all rows of x. `panels`: this thread's scratch.
void RunTask(const MatMulKernels& kernels, const ProductTasks& product, uint32_t task,
             const Activations& x, PanelBlock* panels) {
  const PackedMatrix& weights = *product.output.weights;
  const uint32_t begin = task * product.groups_per_task;
  const uint32_t end = std::min(product.group_count, begin + product.groups_per_task);
  const auto packed = [&](uint32_t group) { return weights.data() + group * product.group_bytes; };
  if (!product.use_panel) {
    for (uint32_t group = begin; group < end; ++group) {
      for (uint32_t row_block = 0; row_block < x.row_block_count(); ++row_block) {
        MultiplyGroup(kernels, product, group, packed(group), x, row_block);
      }
    }
    return;
  }
  // Panels stay in the second-level cache, a row block in the first while it meets them all, and a
  // row of y gets their outputs side by side.
  const size_t panel_blocks = x.cols() / kBlockCols;
  for (uint32_t group = begin; group < end; ++group) {
    kernels.unpack_panel(weights.type(), x.cols(), packed(group),
                         panels + (group - begin) * panel_blocks);
  }
  if (kernels.begin_panels != nullptr) kernels.begin_panels(weights.type());
  for (uint32_t row_block = 0; row_block < x.row_block_count(); ++row_block) {
    for (uint32_t group = begin; group < end; ++group) {
      const PanelBlock* panel = panels + (group - begin) * panel_blocks;
      MultiplyGroup(kernels, product, group, reinterpret_cast<const std::byte*>(panel), x,
                    row_block);
    }
  }
  if (kernels.end_panels != nullptr) kernels.end_panels();
}

ProductTasks SplitIntoTasks(const MatMulOutput& output, const Activations& x, uint32_t threads,
                            uint32_t panel_from_rows) {
  const PackedMatrix& weights = *output.weights;
  ProductTasks product;
  product.output = output;
  product.group_bytes = PackedLayoutOf(weights.type(), weights.cols()).group_bytes;
  product.group_count = (weights.rows() + kGroupRows - 1) / kGroupRows;
  // Spreading a group's bits out costs about one row block's work and spares it to each of them.
  product.use_panel = IsQuantized(weights.type()) && x.rows() >= panel_from_rows;
  if (product.use_panel) {
    product.groups_per_task =
        std::clamp(product.group_count / (threads * kTasksPerThread), 1U, kPanelsAtOnce);
  } else {
    // Long runs of weights: one row is bound by reading them in order.
    const uint64_t share = product.group_bytes * product.group_count / (threads * kTasksPerThread);
    const uint64_t task_bytes = std::clamp<uint64_t>(share, kLeastTaskBytes, kMostTaskBytes);
    product.groups_per_task = static_cast<uint32_t>((task_bytes - 1) / product.group_bytes + 1);
  }
  product.task_count =
      (product.group_count + product.groups_per_task - 1) / product.groups_per_task;
  return product;
}

}  // namespace

void MatMul(std::span<const MatMulOutput> outputs, Activations& x, ThreadPool& pool) {
  WEIR_CHECK(outputs.size() <= kMostOutputs);
  const MatMulKernels& kernels = ChosenMatMulKernels();
  std::array<ProductTasks, kMostOutputs> products;
  uint32_t task_count = 0;
  bool quantized = false;
  bool use_panels = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    WEIR_CHECK(x.cols() == outputs[i].weights->cols());
    products[i] = SplitIntoTasks(outputs[i], x, pool.thread_count(), kernels.panel_from_rows);
    task_count += products[i].task_count;
    quantized |= IsQuantized(outputs[i].weights->type());
    use_panels |= products[i].use_panel;
  }
  if (quantized) x.Quantize(pool);
  const size_t panel_bytes =
      use_panels ? kPanelsAtOnce * (x.cols() / kBlockCols) * sizeof(PanelBlock) : 0;
  x.panels_.EnsureCount(panel_bytes * pool.thread_count());

  pool.ParallelFor(task_count, [&](uint32_t task, uint32_t thread) {
    size_t product = 0;
    for (; task >= products[product].task_count; ++product) task -= products[product].task_count;
    std::byte* panel = x.panels_.data() + thread * panel_bytes;
    RunTask(kernels, products[product], task, x, reinterpret_cast<PanelBlock*>(panel));
  });
}

void MatMul(const PackedMatrix& weights, Activations& x, float* y, uint32_t y_stride,
            ThreadPool& pool) {
  const MatMulOutput output{&weights, y, y_stride};
  MatMul({&output, 1}, x, pool);
}

}  // namespace weir
