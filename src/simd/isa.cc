#include "simd/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "simd/amx.h"
#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"

namespace weir {
namespace {

struct Named {
  Isa isa;
  std::string_view name;
};
constexpr std::array<Named, 6> kIsas = {{{Isa::kScalar, "scalar"},
                                         {Isa::kAvx2, "avx2"},
                                         {Isa::kAvxVnni, "avxvnni"},
                                         {Isa::kAvx512, "avx512"},
                                         {Isa::kAmx, "amx"},
                                         {Isa::kNeon, "neon"}}};
constexpr uint8_t kUndecided = 255;

std::atomic<uint8_t> chosen_isa{kUndecided};

#if defined(__x86_64__)

// Its registers are AVX's, so a system that allows AVX2 allows it.
bool AnnouncesAvxVnni() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || a < 1) return false;  // a: last subleaf
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4U & 1U) != 0;
}

bool CpuHas(Isa isa) {
  const int64_t targets = hwy::SupportedTargets();
  const bool has_avx2 = (targets & HWY_AVX2) != 0;
  const bool has_avx512 = (targets & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni");
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return has_avx2;
    case Isa::kAvxVnni:
      return has_avx2 && AnnouncesAvxVnni();
    case Isa::kAvx512:
      return has_avx512;
    case Isa::kAmx:
      return has_avx512 && EnableAmx();
    case Isa::kNeon:
      return false;
  }
  return false;
}

#elif WEIR_HAS_NEON

bool CpuHas(Isa isa) {
  if (isa == Isa::kNeon) return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  return isa == Isa::kScalar;
}

#else

bool CpuHas(Isa isa) { return isa == Isa::kScalar; }

#endif

bool IsSupported(Isa isa) {
  const auto supported = SupportedIsas();
  return std::find(supported.begin(), supported.end(), isa) != supported.end();
}

Isa Default() {
  const Isa fastest = SupportedIsas().back();
  const char* wanted = std::getenv("WEIR_ISA");
  if (wanted == nullptr || *wanted == '\0') return fastest;
  if (const auto isa = IsaFromName(wanted); isa && IsSupported(*isa)) return *isa;
  std::fprintf(stderr, "WEIR_ISA=%s is unknown or cannot run on this CPU; using %s\n", wanted,
               NameOf(fastest).data());
  return fastest;
}

}  // namespace

std::string_view NameOf(Isa isa) {
  for (const Named& known : kIsas) {
    if (known.isa == isa) return known.name;
  }
  return "";
}

std::optional<Isa> IsaFromName(std::string_view name) {
  for (const Named& known : kIsas) {
    if (known.name == name) return known.isa;
  }
  return std::nullopt;
}

std::span<const Isa> SupportedIsas() {
  static const std::vector<Isa> supported = [] {
    std::vector<Isa> isas;
    for (const Named& known : kIsas) {
      if (CpuHas(known.isa)) isas.push_back(known.isa);
    }
    return isas;
  }();
  return supported;
}

std::string SupportedIsaNames(std::string_view separator) {
  std::string names;
  for (const Isa isa : SupportedIsas()) {
    if (!names.empty()) names += separator;
    names += NameOf(isa);
  }
  return names;
}

Isa ChosenIsa() {
  const uint8_t chosen = chosen_isa.load(std::memory_order_relaxed);
  if (chosen != kUndecided) return static_cast<Isa>(chosen);
  static const Isa by_default = Default();
  uint8_t expected = kUndecided;  // a ForceIsa() that came in between wins
  chosen_isa.compare_exchange_strong(expected, static_cast<uint8_t>(by_default));
  return static_cast<Isa>(chosen_isa.load());
}

Result<void> ForceIsa(Isa isa) {
  if (!IsSupported(isa)) {
    return Fail(ErrorCode::kUnsupported, fmt::format("this CPU cannot run ISA path '{}'; it has {}",
                                                     NameOf(isa), SupportedIsaNames(" ")));
  }
  chosen_isa = static_cast<uint8_t>(isa);
  return {};
}

}  // namespace weir
