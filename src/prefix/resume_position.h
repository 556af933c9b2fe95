// From where decoding may resume in a prefix whose tiles are partly gone.
//
// Equal tokens do not make equal KV once window tiles are evicted on their own. Decoding from
// position p reads the window rows of [p-W+1, p) and, with a per-tile-coded full group of residual
// r, the 16-bit rows of tiles floor(p/128)-r .. ceil(p/128)-1 (owed rows). Both must be present, as
// whole or in part as p needs them.
//
// Pure, any thread. The one answer to this question; PrefixTrie::Match asks it.
#pragma once

#include <cstdint>
#include <span>

#include "kv/window_plan.h"

namespace weir {

// What decoding from a position needs besides full tiles.
struct ResumeNeeds {
  uint32_t window = 0;     // W; 0: no window group
  bool owes_rows = false;  // the full group is coded per tile
  uint32_t residual = 0;   // r, in tiles; of a group that owes rows
};

// A tile of the path, in order from position 0. Its full tile is present.
struct PathTile {
  bool has_window = false;  // false: tombstone
  bool has_owed = false;
};

// Tiles whose owed rows decoding from `position` reads.
[[nodiscard]] TileRange OwedTiles(uint32_t residual, uint32_t position);

// Longest p <= limit from which decoding may resume; 0 if none. `limit` counts tokens that are
// present: limit <= 128 * path.size(), and path[ceil(limit/128) - 1] holds rows up to limit at
// least.
[[nodiscard]] uint32_t ResumePosition(std::span<const PathTile> path, uint32_t limit,
                                      const ResumeNeeds& needs);

// What kept the position below the limit: for counters and the log.
enum class ResumeVeto : uint8_t { kNone, kWindow, kOwedRows };
[[nodiscard]] ResumeVeto VetoAt(std::span<const PathTile> path, uint32_t limit,
                                const ResumeNeeds& needs);

}  // namespace weir
