// What of a chunk outlives the sequence's own need, so that others can resume there.
//
// Pure values.
#pragma once

#include <cstdint>
#include <span>

namespace weir {

struct RetainPlan {
  // Positions behind the chunk's begin, up to its end: the window and owed tiles that decoding from
  // these reads are kept if the pools have room.
  std::span<const uint32_t> resume_positions;
  bool keep_interior = false;  // the other whole window tiles too, as far as slots are free
};

// Recomputing window and owed rows for a sequence that adopts full tiles only.
struct ReplaySpan {
  uint32_t begin = 0;  // first position that is computed
  // Window and owed rows from here on come out as in a cold run in every layer; those before only
  // in lower ones, and no one else may have them.
  uint32_t window_whole_from = 0;
  uint32_t owed_whole_from = 0;
};

}  // namespace weir
