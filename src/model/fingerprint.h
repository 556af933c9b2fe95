// A name for everything that can change a bit of a token's KV or logits: whoever has the same
// fingerprint may use the other's KV.
//
// The model's identity: all metadata, the tensor table, and bytes from everywhere in the tensors'
// data (of each tensor its first, its last and some between, not all: models are large). And its
// numerics: the architecture as it is understood, the effective window, KV format and codec, the
// ISA path and the kernels' revision.
//
// Pure, any thread.
#pragma once

#include <string>

#include "kv/layout.h"
#include "model/config.h"
#include "model/gguf.h"
#include "simd/isa.h"

namespace weir {

// Counts changes of kernels, of the forward pass or of tile formats that change results.
inline constexpr uint32_t kNumericsRevision = 1;

// 32 hexadecimal digits (xxh3-128). `file` must hold tensors, `config` be read from it.
[[nodiscard]] std::string Fingerprint(const GgufFile& file, const ModelConfig& config,
                                      const KvLayout& layout, Isa isa);

}  // namespace weir
