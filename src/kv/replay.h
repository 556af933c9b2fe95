// How far back a replay must begin so that its bits are a cold run's.
//
// Full tiles up to a position p are there, window (or owed) rows are not. Recomputing only the last
// W - 1 positions would not do: their hidden states depend, through every window layer, on rows
// further back. From the top layer down, what must be computed begins at s:
//
//   s = p;  window layer:                 s -= W - 1
//           full layer coded per tile:    s = 128 (floor(s / 128) - r)
//           full layer coded on write:    s stays, its rows are all cached
//
// Rows before that come out wrong and reach nothing that is kept. So that whole window tiles come
// out for others too, the topmost window layer is computed from the start of its first tile.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>

#include "kv/layout.h"
#include "kv/retain_plan.h"
#include "kv/sequence_view.h"

namespace weir {

// First position to compute for exact rows at `position`. `layers`: the model's, from the bottom.
[[nodiscard]] uint32_t ReplayBegin(std::span<const KvLayer> layers, const KvLayout& layout,
                                   uint32_t position);

// The same, with whole tiles.
[[nodiscard]] ReplaySpan PlanReplay(std::span<const KvLayer> layers, const KvLayout& layout,
                                    uint32_t position);

// Positions from which a replay takes less than a cold run would: it never computes more tokens
// than this. The largest number for a model without layers, which cannot replay.
[[nodiscard]] uint32_t ReplayableFrom(std::span<const KvLayer> layers, const KvLayout& layout);

}  // namespace weir
