// Replays a trace against a cache of full tiles: what part of each prompt is found again when only
// so many blocks are kept.
//
// A hit is the leading run of a prompt's blocks that are kept. Then the whole prompt is, which
// makes room by evicting blocks that no kept block follows; the prompt's own blocks stay meanwhile,
// as those of a running request do. (A prompt larger than the cache leaves its beginning.) Belady's
// bound may drop them at once.
//
// Threads: any; one replay is one caller.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/replay_result.h"
#include "sim/trace.h"

namespace weir {

enum class BlockPolicy : uint8_t {
  kLru,     // the block unused for longest, deepest first
  kSglang,  // the same, but what was last used by one request alone goes as a whole
  kWeir,    // LeafOrder decides
  kBelady,  // knows the future: what is used latest goes first
};
inline constexpr uint32_t kBlockPolicyCount = 4;
[[nodiscard]] std::string_view NameOf(BlockPolicy policy);

struct BlockReplayOptions {
  BlockPolicy policy = BlockPolicy::kWeir;
  uint32_t blocks = 0;  // kept at most, > 0
};
[[nodiscard]] ReplayResult ReplayBlocks(const Trace& trace, const BlockReplayOptions& options);

}  // namespace weir
