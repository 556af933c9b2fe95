// Reads blocks of packed weights into vectors: codes one byte each, scales as f32. Included per
// path (simd/foreach_isa-inl.h); pure.
//
// A path whose vectors hold fewer than 16 rows reads a group in parts: part p is rows
// [p * kLanes, (p + 1) * kLanes).

// clang-format off
#if defined(WEIR_QUANT_PACKED_READER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEIR_QUANT_PACKED_READER_INL_H_
#undef WEIR_QUANT_PACKED_READER_INL_H_
#else
#define WEIR_QUANT_PACKED_READER_INL_H_
#endif
// clang-format on

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "quant/packed_layout.h"
#include "simd/dot-inl.h"

#if WEIR_VECTOR_ISA
WEIR_BEFORE_VECTOR_NAMESPACE();
namespace weir::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

const hn::CappedTag<float, 16> df;
const hn::RebindToSigned<decltype(df)> di32;
const hn::Repartition<uint8_t, decltype(df)> du8;
using VF = hn::VFromD<decltype(df)>;
using VI32 = hn::VFromD<decltype(di32)>;
using VU8 = hn::VFromD<decltype(du8)>;
constexpr size_t kLanes = hn::MaxLanes(df);
constexpr size_t kParts = kGroupRows / kLanes;

// How far ahead of the arithmetic one activation row reads weights. 256 bytes to 32 KiB differ by
// less than the noise on one core; of two, 8 KiB was the best (docs/performance.md).
constexpr size_t kPrefetchBytes = 8 << 10;

HWY_INLINE VF LoadHalves(const std::byte* halves) {
  const hn::Rebind<hwy::float16_t, decltype(df)> df16;
  return hn::PromoteTo(df, hn::LoadU(df16, reinterpret_cast<const hwy::float16_t*>(halves)));
}

template <class Byte>
HWY_INLINE VI32 LoadBytes(const std::byte* bytes) {
  const hn::Rebind<Byte, decltype(df)> d8;
  return hn::PromoteTo(di32, hn::LoadU(d8, reinterpret_cast<const Byte*>(bytes)));
}

// Scale, and addend (kAffine, kK) or scale of columns 16..31 (kK16).
struct Scales {
  VF first;
  VF second;
};

// 6-bit s and m of sub-block `sub`: see UnpackSixBits().
HWY_INLINE void LoadSixBits(const std::byte* packed, size_t sub, VI32& s, VI32& m) {
  const VI32 low4 = hn::Set(di32, 15);
  const VI32 low6 = hn::Set(di32, 63);
  if (sub < 4) {
    s = hn::And(LoadBytes<uint8_t>(packed + sub * 16), low6);
    m = hn::And(LoadBytes<uint8_t>(packed + (sub + 4) * 16), low6);
    return;
  }
  const VI32 a = hn::ShiftRight<6>(LoadBytes<uint8_t>(packed + (sub - 4) * 16));
  const VI32 b = hn::ShiftRight<6>(LoadBytes<uint8_t>(packed + sub * 16));
  const VI32 c = LoadBytes<uint8_t>(packed + (sub + 4) * 16);
  s = hn::Or(hn::And(c, low4), hn::ShiftLeft<4>(a));
  m = hn::Or(hn::ShiftRight<4>(c), hn::ShiftLeft<4>(b));
}

template <WeightType kType>
class PackedReader {
 public:
  static constexpr BlockFormat kFormat = BlockFormatOf(kType);

  PackedReader(const std::byte* group, uint32_t cols)
      : codes_(reinterpret_cast<const uint8_t*>(group)),
        scales_(group + static_cast<size_t>(cols / kBlockCols) * kCodeBytes) {}

  // Asks for the bytes that lie kPrefetchBytes ahead of this block's share of the group, in the
  // groups that follow too. For one activation row only: more rows are bound by arithmetic.
  HWY_INLINE void Prefetch(size_t block) const {
    const uint8_t* at = codes_ + block * kBlockBytes + kPrefetchBytes;
    WEIR_UNROLL
    for (size_t line = 0; line < kBlockBytes; line += 64) hwy::Prefetch(at + line);
  }

  // What the block's quads share; then Quad(high, block, part, q) for q = 0..7.
  struct HighBits {
    VU8 bits[2];
  };
  [[nodiscard]] HWY_INLINE HighBits High(size_t block, size_t part) const {
    HighBits high = {};
    const uint8_t* at = codes_ + block * kCodeBytes + part * kLanes * 4 + 256;
    if constexpr (kBits == 5 || kBits == 6) high.bits[0] = hn::LoadU(du8, at);
    if constexpr (kBits == 6) high.bits[1] = hn::LoadU(du8, at + 64);
    return high;
  }

  [[nodiscard]] HWY_INLINE VU8 Quad(const HighBits& high, size_t block, size_t part,
                                    size_t q) const {
    const uint8_t* at = codes_ + block * kCodeBytes + part * kLanes * 4;
    if constexpr (kBits == 8) return hn::LoadU(du8, at + q * 64);
    const VU8 pair = hn::LoadU(du8, at + q / 2 * 64);
    const VU8 low = hn::And(q % 2 == 0 ? pair : Shift(pair, 0, 4), hn::Set(du8, uint8_t{0x0f}));
    if constexpr (kBits == 4) return low;
    if constexpr (kBits == 5) {
      return hn::Or(low, hn::And(Shift(high.bits[0], 4, q), hn::Set(du8, uint8_t{0x10})));
    }
    const VU8 two_bits = Shift(high.bits[q / 4], 4, q % 4 * 2);
    return hn::Or(low, hn::And(two_bits, hn::Set(du8, uint8_t{0x30})));
  }

  [[nodiscard]] HWY_INLINE Scales LoadScales(size_t block, size_t part) const {
    const std::byte* at =
        scales_ + (kSuper ? block / 8 : block) * PackedScaleBytes(kFormat.scale_kind);
    const VF d = LoadHalves(at + part * kLanes * 2);
    if constexpr (kFormat.scale_kind == ScaleKind::kPlain) return {d, d};
    if constexpr (kFormat.scale_kind == ScaleKind::kK16) {
      const std::byte* s = at + 32 + block % 8 * 32 + part * kLanes;
      return {hn::Mul(d, hn::ConvertTo(df, LoadBytes<int8_t>(s))),
              hn::Mul(d, hn::ConvertTo(df, LoadBytes<int8_t>(s + 16)))};
    }
    const VF addend = LoadHalves(at + 32 + part * kLanes * 2);
    if constexpr (kFormat.scale_kind == ScaleKind::kAffine) return {d, addend};
    VI32 s;
    VI32 m;
    LoadSixBits(at + 64 + part * kLanes, block % 8, s, m);
    return {hn::Mul(d, hn::ConvertTo(df, s)), hn::Neg(hn::Mul(addend, hn::ConvertTo(df, m)))};
  }

 private:
  static constexpr uint32_t kBits = kFormat.code_bits;
  static constexpr bool kSuper =
      kFormat.scale_kind == ScaleKind::kK || kFormat.scale_kind == ScaleKind::kK16;
  static constexpr size_t kCodeBytes = 64 * kBits;
  static constexpr size_t kBlockBytes =  // codes and scales
      kCodeBytes + PackedScaleBytes(kFormat.scale_kind) / (kSuper ? 8 : 1);

  // Bytes shifted left by `left` - `right`; bits that cross bytes are for the caller to mask.
  static HWY_INLINE VU8 Shift(VU8 bytes, size_t left, size_t right) {
    const hn::Repartition<uint16_t, decltype(du8)> du16;
    const auto wide = hn::BitCast(du16, bytes);
    if (left >= right) {
      return hn::BitCast(du8, hn::ShiftLeftSame(wide, static_cast<int>(left - right)));
    }
    return hn::BitCast(du8, hn::ShiftRightSame(wide, static_cast<int>(right - left)));
  }

  const uint8_t* codes_;
  const std::byte* scales_;
};

// The same reads from a group whose bits were spread out before.
template <WeightType kType>
class PanelReader {
 public:
  static constexpr BlockFormat kFormat = BlockFormatOf(kType);

  PanelReader(const std::byte* panel, uint32_t /*cols*/)
      : panel_(reinterpret_cast<const PanelBlock*>(panel)) {}

  HWY_INLINE void Prefetch(size_t) const {}
  struct HighBits {};
  [[nodiscard]] HWY_INLINE HighBits High(size_t, size_t) const { return {}; }
  [[nodiscard]] HWY_INLINE VU8 Quad(HighBits, size_t block, size_t part, size_t q) const {
    return hn::Load(du8, panel_[block].codes[q] + part * kLanes * 4);
  }
  [[nodiscard]] HWY_INLINE Scales LoadScales(size_t block, size_t part) const {
    return {hn::Load(df, panel_[block].scale + part * kLanes),
            hn::Load(df, panel_[block].addend + part * kLanes)};
  }

 private:
  const PanelBlock* panel_;
};

}  // namespace weir::HWY_NAMESPACE
WEIR_AFTER_VECTOR_NAMESPACE();
#endif  // WEIR_VECTOR_ISA

#endif  // per-target include guard
