// One request's life in the engine, step by step: prefill chunks, then one decode row a step.
//
// Ownership: holds the request's sequence (and with it its tiles) and sampler; borrows the
// forward pass, the cache, the stats and the sink. Threads: the engine thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/sampler.h"
#include "prefix/cached_sequence.h"

namespace weir {

// How many prompt tokens the next step takes so that it ends in time.
class ChunkPacer {
 public:
  ChunkPacer(uint32_t chunk_max, std::chrono::nanoseconds target)
      : chunk_max_(chunk_max), target_(target) {}
  // At least 1 (for remaining > 0), at most `remaining` and chunk_max; whole multiples of
  // kGranule where the pace binds. Short until the pace is known: the model may be a large one.
  [[nodiscard]] uint32_t Next(uint32_t remaining) const;
  void Record(uint32_t tokens, std::chrono::nanoseconds took);
  // What so many prompt tokens take at the pace last seen.
  [[nodiscard]] std::chrono::microseconds Estimate(uint32_t tokens) const;

  static constexpr uint32_t kGranule = 32;
  static constexpr uint32_t kFirstChunk = 64;

 private:
  uint32_t chunk_max_;
  std::chrono::nanoseconds target_;
  double tokens_in_target_ = kFirstChunk;
};

struct GenerationParts {
  const ForwardFunction& forward;
  KvCache& cache;
  PrefixTrie& trie;
  const ReuseRules& rules;
  EngineStats& stats;
  ChunkPacer& pacer;
};

class Generation {
 public:
  // The request was checked by Engine::Submit.
  Generation(const GenerationParts& parts, uint32_t context_tokens, GenerationRequest request,
             const EventSink& sink);

  // Runs one step and reports what it brought to the sink. A reason: the answer is complete and the
  // caller owes the sink the last event. An Error: no memory for the step, the same.
  Result<std::optional<FinishReason>> Step();

  // No more steps will come, whatever the reason: what was computed stays for others.
  void Finish() { sequence_.Finish(); }
  [[nodiscard]] const SequenceView& view() const { return sequence_.view(); }

 private:
  Result<std::optional<FinishReason>> PrefillStep();
  Result<std::optional<FinishReason>> DecodeStep();
  // Computes the next `count` tokens; the logits rows are valid until the next call.
  Result<std::span<const float>> Forward(uint32_t count, LogitsWanted wanted);
  void CountStart();
  void KeepPromptLogprobs(std::span<const float> rows, uint32_t first, uint32_t count);
  // Draws the token that follows from `logits`: an event and the next decode row, or the end.
  std::optional<FinishReason> Draw(std::span<const float> logits);

  GenerationParts parts_;
  GenerationRequest request_;
  const EventSink& sink_;
  CachedSequence sequence_;
  SequenceStart start_;
  Sampler sampler_;
  uint64_t answer_max_;
  uint64_t answer_count_ = 0;
  std::vector<SampledToken> prompt_logprobs_;
  TimePoint started_at_;
};

}  // namespace weir
