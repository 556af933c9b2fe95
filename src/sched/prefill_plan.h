// Which prompts go on in a step, and how far.
//
// Least remaining work first, so that a short prompt is not dragged by a long one; but a quarter of
// the time goes to the one that arrived first, so that each goes on in the end. That quarter adds
// up over steps until it pays for a chunk: in one step it would buy the first to arrive at a great
// depth less than a row, or, rounded up, all of the step.
//
// Ownership: plain values. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/step_pace.h"
#include "sched/waiting_queue.h"

namespace weir {

struct PrefillCandidate {
  uint32_t position = 0;  // first token to be computed
  uint32_t left = 0;      // tokens of the prompt from there on, at least 1
  uint32_t most = 0;      // tokens that it may take in this step
  uint64_t arrival = 0;
  uint32_t tokens = 0;  // the plan: 0, or how many
};

struct PrefillLimits {
  double seconds = 0;   // that prefill may add to the step, about
  uint32_t tokens = 0;  // at most, at least 1
  QueuePolicy policy = QueuePolicy::kBuckets;
};

// Chunks that the time cuts are multiples of the first, or of the second where time is shorter.
inline constexpr uint32_t kPrefillGranule = 32;
inline constexpr uint32_t kLeastPrefill = 8;
inline constexpr uint32_t kFirstPrefillTokens = 64;  // while the pace is not known

class PrefillPlanner {
 public:
  // Sets `tokens` of each. Somebody who may take so many gets at least kLeastPrefill (or what is
  // left of it); the one that arrived first does again and again, whoever else comes.
  void Plan(const StepPace& pace, const PrefillLimits& limits,
            std::span<PrefillCandidate> candidates);

 private:
  uint64_t first_arrival_ = 0;  // whom the seconds are owed
  double owed_seconds_ = 0;
  std::vector<PrefillCandidate*> order_;  // buffer
};

}  // namespace weir
