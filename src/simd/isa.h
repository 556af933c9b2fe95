// Which instruction set the kernels of this process run on.
//
// `scalar` is the specification and runs anywhere; `avx2` needs AVX2, FMA, F16C; `avxvnni` is avx2
// with the byte dot product of AVX-VNNI; `avx512` needs AVX-512 F/BW/DQ/VL and VNNI (a CPU with
// AVX-512 but without VNNI takes avx2); `amx` is avx512 with products of many rows on the tile unit
// (AMX-INT8). On AArch64 there is `neon`, which needs the dot product of ARMv8.2. All give the same
// bits. Packed weights and KV tiles have one layout for all paths.
//
// Threads: the choice is one process-wide atomic; set it before the first kernel runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

enum class Isa : uint8_t { kScalar, kAvx2, kAvxVnni, kAvx512, kAmx, kNeon };

[[nodiscard]] std::string_view NameOf(Isa isa);  // "scalar", "avx2", ...
[[nodiscard]] std::optional<Isa> IsaFromName(std::string_view name);

// What this CPU can run, slowest first; never empty.
[[nodiscard]] std::span<const Isa> SupportedIsas();

// Their names with `separator` between them.
[[nodiscard]] std::string SupportedIsaNames(std::string_view separator);

// The forced path, else the one that environment variable WEIR_ISA names, else the fastest. A
// WEIR_ISA that is unknown or cannot run here is reported once on stderr and ignored.
[[nodiscard]] Isa ChosenIsa();

// Fails if this CPU cannot run it.
Result<void> ForceIsa(Isa isa);

// The path's function or table; avxvnni shares avx2's and amx avx512's unless the caller says
// otherwise.
template <class T>
[[nodiscard]] T* ChooseByIsa(Isa isa, T* scalar, T* avx2, T* avx512) {
  switch (isa) {
    case Isa::kScalar:
    case Isa::kNeon:
      break;
    case Isa::kAvx2:
    case Isa::kAvxVnni:
      return avx2;
    case Isa::kAvx512:
    case Isa::kAmx:
      return avx512;
  }
  return scalar;
}

// The same on AArch64.
template <class T>
[[nodiscard]] T* ChooseByIsa(Isa isa, T* scalar, T* neon) {
  return isa == Isa::kNeon ? neon : scalar;
}

}  // namespace weir
