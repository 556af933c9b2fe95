#include "simd/isa.h"

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
constexpr std::array<Named, 4> kIsas = {
    {{Isa::kScalar, "scalar"}, {Isa::kAvx2, "avx2"}, {Isa::kAvx512, "avx512"}, {Isa::kAmx, "amx"}}};
constexpr uint8_t kUndecided = 255;

std::atomic<uint8_t> chosen_isa{kUndecided};

bool CpuHas(Isa isa) {
  if (isa == Isa::kScalar) return true;
#if defined(__x86_64__)
  const int64_t targets = hwy::SupportedTargets();
  const bool has_avx512 = (targets & HWY_AVX3) != 0 && __builtin_cpu_supports("avx512vnni");
  switch (isa) {
    case Isa::kScalar:
      return true;
    case Isa::kAvx2:
      return (targets & HWY_AVX2) != 0;
    case Isa::kAvx512:
      return has_avx512;
    case Isa::kAmx:
      return has_avx512 && EnableAmx();
  }
#endif
  return false;
}

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
    return Fail(ErrorCode::kUnsupported,
                fmt::format("this CPU cannot run ISA path '{}'; the fastest it can is '{}'",
                            NameOf(isa), NameOf(SupportedIsas().back())));
  }
  chosen_isa = static_cast<uint8_t>(isa);
  return {};
}

}  // namespace weir
