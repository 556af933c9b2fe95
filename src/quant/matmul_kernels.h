// The inner loops of MatMul, a scalar specification and its vector twins (private to quant/).
//
// All compute, for the 16 rows of one group and the rows of one row block, in this order:
//
//   acc = 0
//   for each block of 32 columns, ascending:
//     one scale    acc = fma(scale * x.scale, dot(code - offset, x.codes), acc)
//     with addend  acc = fma(addend, x.scaled_sum, acc)                   after it
//     kK16         the first line for columns 0..15, then for 16..31
//
// dot is an exact integer. Float weights: acc = fma(w, x, acc) for each column, ascending. So every
// path has the same bits; only a NaN's payload may differ.
#pragma once

#include <cstdint>

#include "quant/matmul.h"
#include "quant/packed_layout.h"

namespace weir {

using ConstActivationBlock = ActivationBlock<const std::byte>;

// One group of weights times one row block.
struct GroupProduct {
  WeightType type;
  uint32_t cols;
  const std::byte* weights;  // a packed group; or `cols` / 32 PanelBlocks
  const std::byte* x;        // [cols / 32] ActivationBlocks of `rows` rows (quantised)
  const float* x_values;     // [rows, cols] (float)
  uint32_t rows;             // 1..Activations::kRowBlock
  float* y;                  // [rows][y_stride], of which 16 are written
  uint32_t y_stride;
};

// The functions of one ISA path.
struct MatMulKernels {
  void (*multiply_packed)(const GroupProduct& product);
  // For quantised types: a group spread out once, then multiplied by every row block. Between
  // begin_panels and end_panels on the same thread, if there are such.
  void (*multiply_panel)(const GroupProduct& product);
  // One packed group to [cols / 32] blocks, as this path's multiply_panel wants them.
  void (*unpack_panel)(WeightType type, uint32_t cols, const std::byte* group, PanelBlock* panel);
  uint32_t panel_from_rows;               // activation rows from which panels pay
  void (*begin_panels)(WeightType type);  // null: nothing to do
  void (*end_panels)();
  // `rows` rows of `cols` values to [cols / 32] ActivationBlocks.
  void (*quantize)(const float* values, uint32_t rows, uint32_t cols, std::byte* out);
};

[[nodiscard]] const MatMulKernels& ScalarMatMulKernels();
[[nodiscard]] const MatMulKernels& Avx512MatMulKernels();
[[nodiscard]] const MatMulKernels& AmxMatMulKernels();
[[nodiscard]] const MatMulKernels& ChosenMatMulKernels();  // by ChosenIsa()

}  // namespace weir
