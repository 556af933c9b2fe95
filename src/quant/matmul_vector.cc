// The vector twins of matmul_scalar.cc: a lane is an output row, so every lane does the scalar
// path's operations in the scalar path's order.
#include <bit>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "quant/matmul_kernels.h"
#include "simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quant/matmul_vector.cc"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "quant/packed_reader-inl.h"
#include "simd/dot-inl.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace {

// Activation rows whose sums live in registers together: 2 vectors each.
constexpr uint32_t kMaxRows = HWY_TARGET == HWY_AVX2 ? 4 : 8;

// Below, DotOf is Dot, or another class of simd/dot-inl.h that the CPU can run.

// -offset * sum(codes), where the dot does not subtract the offset itself.
template <class Reader, template <uint32_t> class DotOf>
HWY_INLINE VI32 OffsetPart(VI32 minus_sum) {
  constexpr uint32_t kOffset = Reader::kFormat.offset;
  if constexpr (kOffset == 0 || DotOf<Reader::kFormat.code_bits>::kSubtracts128) {
    return hn::Zero(di32);
  } else {
    return hn::ShiftLeft<std::countr_zero(kOffset)>(minus_sum);
  }
}

// acc[m] += one block of weights times row first + m of the block's activations.
template <class Reader, template <uint32_t> class DotOf, uint32_t kRows>
HWY_INLINE void AddBlock(const Reader& reader, size_t block, size_t part,
                         const ConstActivationBlock& x, uint32_t first, VF (&acc)[kRows]) {
  constexpr ScaleKind kKind = Reader::kFormat.scale_kind;
  constexpr bool kHalves = kKind == ScaleKind::kK16;
  const auto high = reader.High(block, part);
  const Scales scales = reader.LoadScales(block, part);
  DotOf<Reader::kFormat.code_bits> dot[kRows];
  WEIR_UNROLL
  for (uint32_t m = 0; m < kRows; ++m) {
    const int32_t minus_sum = (kHalves ? x.minus_low_sum : x.minus_sum)[first + m];
    dot[m].Start(OffsetPart<Reader, DotOf>(hn::Set(di32, minus_sum)));
  }
  WEIR_UNROLL
  for (size_t q = 0; q < 8; ++q) {
    if (kHalves && q == 4) {
      WEIR_UNROLL
      for (uint32_t m = 0; m < kRows; ++m) {
        const VF scale = hn::Mul(scales.first, hn::Set(df, x.scale[first + m]));
        acc[m] = hn::MulAdd(scale, hn::ConvertTo(df, dot[m].Sum()), acc[m]);
        const VI32 minus_high_sum = hn::Sub(hn::Set(di32, x.minus_sum[first + m]),
                                            hn::Set(di32, x.minus_low_sum[first + m]));
        dot[m].Start(OffsetPart<Reader, DotOf>(minus_high_sum));
      }
    }
    const VU8 codes = reader.Quad(high, block, part, q);
    WEIR_UNROLL
    for (uint32_t m = 0; m < kRows; ++m)
      dot[m].Add(q, codes, x.codes + (first + m) * kBlockCols + q * 4);
  }
  WEIR_UNROLL
  for (uint32_t m = 0; m < kRows; ++m) {
    const VF scale =
        hn::Mul(kHalves ? scales.second : scales.first, hn::Set(df, x.scale[first + m]));
    acc[m] = hn::MulAdd(scale, hn::ConvertTo(df, dot[m].Sum()), acc[m]);
    if constexpr (kKind == ScaleKind::kAffine || kKind == ScaleKind::kK) {
      acc[m] = hn::MulAdd(scales.second, hn::Set(df, x.scaled_sum[first + m]), acc[m]);
    }
  }
}

// Rows [first, first + kRows) of the product.
template <class Reader, template <uint32_t> class DotOf, uint32_t kRows>
void MultiplyRows(const GroupProduct& product, uint32_t first) {
  const Reader reader(product.weights, product.cols);
  const size_t block_count = product.cols / kBlockCols;
  for (size_t part = 0; part < kParts; ++part) {
    VF acc[kRows];
    WEIR_UNROLL
    for (uint32_t m = 0; m < kRows; ++m) acc[m] = hn::Zero(df);
    ConstActivationBlock x(product.x, product.rows);
    for (size_t block = 0; block < block_count; ++block, x.Advance()) {
      if constexpr (kRows == 1) reader.Prefetch(block);
      AddBlock<Reader, DotOf, kRows>(reader, block, part, x, first, acc);
    }
    WEIR_UNROLL
    for (uint32_t m = 0; m < kRows; ++m) {
      hn::StoreU(acc[m], df, product.y + (first + m) * product.y_stride + part * kLanes);
    }
  }
}

template <class Element>
HWY_INLINE VF LoadFloats(const std::byte* elements) {
  const hn::Rebind<Element, decltype(df)> d;
  const auto loaded = hn::LoadU(d, reinterpret_cast<const Element*>(elements));
  if constexpr (sizeof(Element) == 4) {
    return loaded;
  } else {
    return hn::PromoteTo(df, loaded);
  }
}

template <class Element>
struct FloatRows {
  template <uint32_t kRows>
  static void Multiply(const GroupProduct& product, uint32_t first) {
    const float* x = product.x_values + static_cast<size_t>(first) * product.cols;
    for (size_t part = 0; part < kParts; ++part) {
      VF acc[kRows];
      WEIR_UNROLL
      for (uint32_t m = 0; m < kRows; ++m) acc[m] = hn::Zero(df);
      const std::byte* weights = product.weights + part * kLanes * sizeof(Element);
      for (size_t col = 0; col < product.cols; ++col, weights += kGroupRows * sizeof(Element)) {
        if constexpr (kRows == 1) hwy::Prefetch(weights + kPrefetchBytes);
        const VF w = LoadFloats<Element>(weights);
        WEIR_UNROLL
        for (size_t m = 0; m < kRows; ++m) {
          acc[m] = hn::MulAdd(w, hn::Set(df, x[m * product.cols + col]), acc[m]);
        }
      }
      WEIR_UNROLL
      for (uint32_t m = 0; m < kRows; ++m) {
        hn::StoreU(acc[m], df, product.y + (first + m) * product.y_stride + part * kLanes);
      }
    }
  }
};

template <class Reader, template <uint32_t> class DotOf>
struct QuantizedRows {
  template <uint32_t kRows>
  static void Multiply(const GroupProduct& product, uint32_t first) {
    MultiplyRows<Reader, DotOf, kRows>(product, first);
  }
};

// All rows of the product, as many at a time as registers hold.
template <class Rows>
void MultiplyAll(const GroupProduct& product) {
  uint32_t first = 0;
  for (; first + kMaxRows <= product.rows; first += kMaxRows) {
    Rows::template Multiply<kMaxRows>(product, first);
  }
  const uint32_t left = product.rows - first;
  if (kMaxRows > 4 && (left & 4U) != 0) {
    Rows::template Multiply<4>(product, first);
    first += 4;
  }
  if ((left & 2U) != 0) {
    Rows::template Multiply<2>(product, first);
    first += 2;
  }
  if ((left & 1U) != 0) Rows::template Multiply<1>(product, first);
}

// Calls visitor.template operator()<type>() for a quantised type.
template <class Visitor>
HWY_INLINE void VisitQuantized(WeightType type, const Visitor& visitor) {
  switch (type) {
    case WeightType::kQ4_0:
      return visitor.template Visit<WeightType::kQ4_0>();
    case WeightType::kQ4_1:
      return visitor.template Visit<WeightType::kQ4_1>();
    case WeightType::kQ5_0:
      return visitor.template Visit<WeightType::kQ5_0>();
    case WeightType::kQ5_1:
      return visitor.template Visit<WeightType::kQ5_1>();
    case WeightType::kQ8_0:
      return visitor.template Visit<WeightType::kQ8_0>();
    case WeightType::kQ4_K:
      return visitor.template Visit<WeightType::kQ4_K>();
    case WeightType::kQ5_K:
      return visitor.template Visit<WeightType::kQ5_K>();
    case WeightType::kQ6_K:
      return visitor.template Visit<WeightType::kQ6_K>();
    default:
      WEIR_CHECK(!"not a quantised type");
  }
}

template <template <WeightType> class Reader, template <uint32_t> class DotOf>
struct MultiplyVisitor {
  const GroupProduct& product;
  template <WeightType kType>
  void Visit() const {
    MultiplyAll<QuantizedRows<Reader<kType>, DotOf>>(product);
  }
};

template <template <uint32_t> class DotOf>
void MultiplyPacked(const GroupProduct& product) {
  switch (product.type) {
    case WeightType::kF32:
      return MultiplyAll<FloatRows<float>>(product);
    case WeightType::kF16:
      return MultiplyAll<FloatRows<hwy::float16_t>>(product);
    case WeightType::kBF16:
      return MultiplyAll<FloatRows<hwy::bfloat16_t>>(product);
    default:
      return VisitQuantized(product.type, MultiplyVisitor<PackedReader, DotOf>{product});
  }
}

template <template <uint32_t> class DotOf>
void MultiplyPanel(const GroupProduct& product) {
  VisitQuantized(product.type, MultiplyVisitor<PanelReader, DotOf>{product});
}

struct UnpackVisitor {
  const std::byte* group;
  uint32_t cols;
  PanelBlock* panel;

  template <WeightType kType>
  void Visit() const {
    const PackedReader<kType> reader(group, cols);
    for (size_t block = 0; block < cols / kBlockCols; ++block) {
      for (size_t part = 0; part < kParts; ++part) {
        const auto high = reader.High(block, part);
        WEIR_UNROLL
        for (size_t q = 0; q < 8; ++q) {
          hn::Store(reader.Quad(high, block, part, q), du8,
                    panel[block].codes[q] + part * kLanes * 4);
        }
        const Scales scales = reader.LoadScales(block, part);
        hn::Store(scales.first, df, panel[block].scale + part * kLanes);
        hn::Store(scales.second, df, panel[block].addend + part * kLanes);
      }
    }
  }
};

void UnpackPanel(WeightType type, uint32_t cols, const std::byte* group, PanelBlock* panel) {
  VisitQuantized(type, UnpackVisitor{group, cols, panel});
}

HWY_INLINE void QuantizeBlock(const float* x, const ActivationBlock<std::byte>& out, size_t row) {
  int8_t* codes_out = out.codes + row * kBlockCols;
  constexpr size_t kVectors = kBlockCols / kLanes;
  const VI32 magnitude_mask = hn::Set(di32, 0x7fffffff);
  VF values[kVectors];
  VI32 max_bits = hn::Zero(di32);
  WEIR_UNROLL
  for (size_t v = 0; v < kVectors; ++v) {
    values[v] = hn::LoadU(df, x + v * kLanes);
    max_bits = hn::Max(max_bits, hn::And(hn::BitCast(di32, values[v]), magnitude_mask));
  }
  const int32_t bits = hn::GetLane(hn::MaxOfLanes(di32, max_bits));
  const auto max = std::bit_cast<float>(bits);
  if (bits >= 0x7f800000 || max < 0x1p-110F) {
    std::memset(codes_out, 0, kBlockCols);
    out.minus_low_sum[row] = out.minus_sum[row] = 0;
    out.scale[row] = out.scaled_sum[row] =
        bits >= 0x7f800000 ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
    return;
  }
  const VF inverse = hn::Set(df, 127.0F / max);
  const VF round = hn::Set(df, 0x1.8p23F);
  VI32 sums[2] = {hn::Zero(di32), hn::Zero(di32)};
  WEIR_UNROLL
  for (size_t v = 0; v < kVectors; ++v) {
    const VF rounded = hn::Add(hn::Mul(values[v], inverse), round);
    const VI32 codes = hn::Sub(hn::BitCast(di32, rounded), hn::Set(di32, 0x4b400000));
    const hn::Rebind<int8_t, decltype(df)> di8;
    hn::StoreU(hn::DemoteTo(di8, codes), di8, codes_out + v * kLanes);
    VI32& sum = sums[v * kLanes / 16];
    sum = hn::Add(sum, codes);
  }
  const int32_t low = hn::GetLane(hn::SumOfLanes(di32, sums[0]));
  const int32_t sum = low + hn::GetLane(hn::SumOfLanes(di32, sums[1]));
  const float scale = max / 127.0F;
  out.scale[row] = scale;
  out.scaled_sum[row] = scale * static_cast<float>(sum);
  out.minus_low_sum[row] = -low;
  out.minus_sum[row] = -sum;
}

void Quantize(const float* values, uint32_t rows, uint32_t cols, std::byte* out) {
  for (size_t block = 0; block < cols / kBlockCols; ++block) {
    const ActivationBlock<std::byte> x(out, block, rows);
    for (size_t row = 0; row < rows; ++row) {
      QuantizeBlock(values + row * cols + block * kBlockCols, x, row);
    }
  }
}

template <template <uint32_t> class DotOf>
const MatMulKernels& KernelsWith() {
  static constexpr MatMulKernels kernels = {
      .multiply_packed = MultiplyPacked<DotOf>,
      .multiply_panel = MultiplyPanel<DotOf>,
      .unpack_panel = UnpackPanel,
      .panel_from_rows = 9,
      .begin_panels = nullptr,
      .end_panels = nullptr,
      .quantize = Quantize,
  };
  return kernels;
}

}  // namespace

const MatMulKernels& Kernels() { return KernelsWith<Dot>(); }
#if HWY_TARGET == HWY_AVX2
const MatMulKernels& AvxVnniKernels() { return KernelsWith<NativeDot>(); }
#endif

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#if HWY_ONCE
namespace weir {

#if defined(__x86_64__)
const MatMulKernels& Avx512MatMulKernels() { return N_AVX3::Kernels(); }
#endif

const MatMulKernels& ChosenMatMulKernels() {
#if defined(__x86_64__)
  if (ChosenIsa() == Isa::kAmx) return AmxMatMulKernels();
  if (ChosenIsa() == Isa::kAvxVnni) return N_AVX2::AvxVnniKernels();
#endif
  return WEIR_CHOOSE(ScalarMatMulKernels, Kernels)();
}

}  // namespace weir
#endif  // HWY_ONCE
