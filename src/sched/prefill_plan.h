// Which prompts go on in a step, and how far.
//
// Least remaining work first, so that a short prompt is not dragged by a long one; but the one that
// arrived first gets a quarter of the time in any case, so that each moves in every step in which
// it is the first to have arrived.
//
// Pure. Threads: any.
#pragma once

#include <cstdint>
#include <span>

#include "sched/step_pace.h"
#include "sched/waiting_queue.h"

namespace weir {

struct PrefillCandidate {
  uint32_t position = 0;  // first token to be computed
  uint32_t left = 0;      // tokens of the prompt from there on, at least 1
  uint32_t most = 0;      // tokens that it may take in one step, at least 1
  uint64_t arrival = 0;
  uint32_t tokens = 0;  // the plan: 0, or how many
};

struct PrefillLimits {
  double seconds = 0;   // that prefill may add to the step, about
  uint32_t tokens = 0;  // at most, at least 1
  QueuePolicy policy = QueuePolicy::kBuckets;
};

inline constexpr uint32_t kPrefillGranule = 32;      // chunks that the time cuts are whole ones
inline constexpr uint32_t kFirstPrefillTokens = 64;  // while the pace is not known

// Sets `tokens` of each. Somebody gets at least a granule (or what is left of it).
void PlanPrefill(const StepPace& pace, const PrefillLimits& limits,
                 std::span<PrefillCandidate> candidates);

}  // namespace weir
