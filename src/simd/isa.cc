#include "simd/isa.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "simd/foreach_isa-inl.h"
//
#include "hwy/highway.h"

namespace weir {
namespace {

constexpr std::array kIsas = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512};
constexpr std::array<std::string_view, 3> kNames = {"scalar", "avx2", "avx512"};
constexpr uint8_t kUndecided = 255;

std::atomic<uint8_t> chosen_isa{kUndecided};

size_t CountSupported() {
#if defined(__x86_64__)
  const int64_t targets = hwy::SupportedTargets();
  if ((targets & HWY_AVX2) == 0) return 1;
  if ((targets & HWY_AVX3) == 0 || !__builtin_cpu_supports("avx512vnni")) return 2;
  return 3;
#else
  return 1;
#endif
}

bool IsSupported(Isa isa) { return static_cast<size_t>(isa) < SupportedIsas().size(); }

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

std::string_view NameOf(Isa isa) { return kNames[static_cast<size_t>(isa)]; }

std::optional<Isa> IsaFromName(std::string_view name) {
  for (const Isa isa : kIsas) {
    if (name == NameOf(isa)) return isa;
  }
  return std::nullopt;
}

std::span<const Isa> SupportedIsas() {
  static const size_t count = CountSupported();
  return std::span(kIsas).first(count);
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
