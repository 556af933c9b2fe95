#include "quant/kv_tile.h"

#include <algorithm>

#include "base/check.h"
#include "simd/half.h"
#include "simd/isa.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "quant/kv_tile.cc"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"
#include "simd/math-inl.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

const hn::CappedTag<float, 16> df;

// Writes a multiple of 16 halves; `from` and `to` have room for it.
void NarrowRow(const float* from, uint32_t count, uint16_t* to) {
  const hn::Rebind<hwy::float16_t, decltype(df)> half;
  const auto highest = hn::Set(df, 65504.0F);
  for (uint32_t i = 0; i < count; i += hn::Lanes(df)) {
    const auto clamped = AtLeast(hn::Neg(highest), AtMost(highest, hn::LoadU(df, from + i)));
    hn::StoreU(hn::DemoteTo(half, clamped), half, reinterpret_cast<hwy::float16_t*>(to + i));
  }
}

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#if HWY_ONCE
namespace weir {
namespace {

void NarrowRow(const float* from, uint32_t count, uint16_t* to) {
  for (uint32_t i = 0; i < count; ++i) to[i] = FloatToHalf(from[i]);
}

// Hands `row` on in pieces of at most 64 halves: use(first element, halves).
template <class Use>
void ForEachPiece(std::span<const float> row, const Use& use) {
  constexpr size_t kPiece = 64;
  const auto narrow = WEIR_CHOOSE(NarrowRow, NarrowRow);
  uint16_t halves[kPiece];
  size_t at = 0;
  for (; at + kPiece <= row.size(); at += kPiece) {
    narrow(row.data() + at, kPiece, halves);
    use(at, std::span<const uint16_t>(halves));
  }
  if (at == row.size()) return;
  const std::span<const float> rest = row.subspan(at);
  NarrowRow(rest.data(), static_cast<uint32_t>(rest.size()), halves);
  use(at, std::span<const uint16_t>(halves).first(rest.size()));
}

}  // namespace

void WriteKeyRow(KvFormat format, std::span<const float> row, [[maybe_unused]] uint32_t heads,
                 [[maybe_unused]] uint32_t dim, uint32_t slot, std::byte* plane) {
  WEIR_DCHECK(row.size() == size_t{heads} * dim && slot < kTileTokens);
  WEIR_DCHECK(format != KvFormat::kOpaque);
  if (format == KvFormat::kF32) {
    float* column = reinterpret_cast<float*>(plane) + slot;
    for (size_t i = 0; i < row.size(); ++i) column[i * kTileTokens] = row[i];
    return;
  }
  uint16_t* column = reinterpret_cast<uint16_t*>(plane) + slot;
  ForEachPiece(row, [column](size_t first, std::span<const uint16_t> halves) {
    for (size_t i = 0; i < halves.size(); ++i) column[(first + i) * kTileTokens] = halves[i];
  });
}

void WriteValueRow(KvFormat format, std::span<const float> row, uint32_t heads, uint32_t dim,
                   uint32_t slot, std::byte* plane) {
  WEIR_DCHECK(row.size() == size_t{heads} * dim && slot < kTileTokens);
  WEIR_DCHECK(format != KvFormat::kOpaque);
  for (uint32_t head = 0; head < heads; ++head) {
    if (format == KvFormat::kF32) {
      float* out = reinterpret_cast<float*>(plane) + (size_t{head} * kTileTokens + slot) * dim;
      std::copy_n(row.data() + size_t{head} * dim, dim, out);
      continue;
    }
    uint16_t* out = reinterpret_cast<uint16_t*>(plane) + (size_t{head} * kTileTokens + slot) * dim;
    ForEachPiece(row.subspan(size_t{head} * dim, dim),
                 [out](size_t first, std::span<const uint16_t> halves) {
                   std::copy(halves.begin(), halves.end(), out + first);
                 });
  }
}

void ReadKeyRow(KvFormat format, const std::byte* plane, [[maybe_unused]] uint32_t heads,
                [[maybe_unused]] uint32_t dim, uint32_t slot, std::span<float> row) {
  WEIR_DCHECK(row.size() == size_t{heads} * dim && slot < kTileTokens);
  WEIR_DCHECK(format != KvFormat::kOpaque);
  if (format == KvFormat::kF32) {
    const float* column = reinterpret_cast<const float*>(plane) + slot;
    for (size_t i = 0; i < row.size(); ++i) row[i] = column[i * kTileTokens];
    return;
  }
  const auto* column = reinterpret_cast<const uint16_t*>(plane) + slot;
  for (size_t i = 0; i < row.size(); ++i) row[i] = HalfToFloat(column[i * kTileTokens]);
}

void ReadValueRow(KvFormat format, const std::byte* plane, uint32_t heads, uint32_t dim,
                  uint32_t slot, std::span<float> row) {
  WEIR_DCHECK(row.size() == size_t{heads} * dim && slot < kTileTokens);
  WEIR_DCHECK(format != KvFormat::kOpaque);
  for (uint32_t head = 0; head < heads; ++head) {
    if (format == KvFormat::kF32) {
      const float* from =
          reinterpret_cast<const float*>(plane) + (size_t{head} * kTileTokens + slot) * dim;
      std::copy_n(from, dim, row.data() + size_t{head} * dim);
      continue;
    }
    const auto* from =
        reinterpret_cast<const uint16_t*>(plane) + (size_t{head} * kTileTokens + slot) * dim;
    for (uint32_t d = 0; d < dim; ++d) row[size_t{head} * dim + d] = HalfToFloat(from[d]);
  }
}

}  // namespace weir
#endif  // HWY_ONCE
