// Replays a trace against a number of retained windows, full tiles kept for ever.
//
// A request reuses the deepest place of its prompt that has a resume point; then it leaves points
// of its own: where it parted from what was known (if nothing could be resumed there), at distances
// inside what it computed, and at its end. All places are ends of the trace's blocks.
//
// Threads: any; one replay is one caller.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/replay_result.h"
#include "sim/trace.h"

namespace weir {

// Nothing is ever evicted, and every place can be resumed: what a perfect cache would reach.
[[nodiscard]] ReplayResult ReplayIdeal(const Trace& trace);

enum class WindowPolicy : uint8_t {
  kTails,            // A: the end of each prompt, least recently used first
  kBranches,         // B: and where prompts part
  kColdSuperseded,   // C = B, but a prompt's end that was continued goes to the cold end
  kWarmCheckpoints,  // D = B and every checkpoint_tokens, all in one order of use
  kColdCheckpoints,  // E = C and every checkpoint_tokens at the cold end
  kWeir,             // ResumePoints decides; branches and checkpoints
  kBelady,           // knows the future: keeps what is wanted soonest, anywhere in a prompt
};
inline constexpr uint32_t kWindowPolicyCount = 7;
[[nodiscard]] std::string_view NameOf(WindowPolicy policy);

struct ResumeReplayOptions {
  WindowPolicy policy = WindowPolicy::kWeir;
  uint32_t points = 16;  // retained windows, > 0
  uint32_t checkpoint_tokens = 4096;
};
[[nodiscard]] ReplayResult ReplayResumePoints(const Trace& trace,
                                              const ResumeReplayOptions& options);

}  // namespace weir
