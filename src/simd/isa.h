// Which instruction set the kernels of this process run on.
//
// `scalar` is the specification and runs anywhere; `avx2` needs AVX2, FMA, F16C; `avx512` needs
// AVX-512 F/BW/DQ/VL and VNNI (a CPU with AVX-512 but without VNNI takes avx2); `amx` is avx512
// with products of many rows on the tile unit (AMX-INT8). All give the same bits. Packed weights
// and KV tiles have one layout for all paths.
//
// Threads: the choice is one process-wide atomic; set it before the first kernel runs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace weir {

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512, kAmx };

[[nodiscard]] std::string_view NameOf(Isa isa);  // "scalar", "avx2", ...
[[nodiscard]] std::optional<Isa> IsaFromName(std::string_view name);

// What this CPU can run, slowest first; never empty.
[[nodiscard]] std::span<const Isa> SupportedIsas();

// The forced path, else the one that environment variable WEIR_ISA names, else the fastest. A
// WEIR_ISA that is unknown or cannot run here is reported once on stderr and ignored.
[[nodiscard]] Isa ChosenIsa();

// Fails if this CPU cannot run it.
Result<void> ForceIsa(Isa isa);

// The function of the chosen path; amx shares avx512's unless its caller says otherwise.
template <class Function>
[[nodiscard]] Function* ChooseByIsa(Function* scalar, Function* avx2, Function* avx512) {
  switch (ChosenIsa()) {
    case Isa::kScalar:
      return scalar;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
    case Isa::kAmx:
      return avx512;
  }
  return scalar;
}

}  // namespace weir
