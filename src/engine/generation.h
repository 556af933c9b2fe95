// One request's life in the engine: waiting with its tokens, running with a sequence, perhaps
// suspended in between, until its answer is complete.
//
// A running one takes part in steps: BeginStep opens a chunk of its next tokens, segment() is what
// the forward pass needs, EndStep takes the logits and reports what they brought to the sink.
//
// Ownership: holds the request's sequence while it runs (and with it its tiles) and its sampler;
// borrows cache, trie, rules, stats and the sink. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "model/sampler.h"
#include "prefix/cached_sequence.h"
#include "sched/step_pace.h"

namespace weir {

struct GenerationParts {
  KvCache& cache;
  PrefixTrie& trie;
  const ReuseRules& rules;
  EngineStats& stats;
  const StepPace& pace;
  const std::function<TimePoint()>& now;
};

class Generation {
 public:
  // Answer tokens that memory is reserved for when a request begins; it grows beyond.
  static constexpr uint32_t kReservedAnswer = 512;

  // The request was checked by Engine::Submit.
  Generation(const GenerationParts& parts, uint32_t context_tokens, GenerationRequest request,
             const EventSink& sink);

  [[nodiscard]] const GenerationRequest& request() const { return request_; }
  // Prompt and answer so far.
  [[nodiscard]] std::span<const TokenId> tokens() const {
    return sequence_ ? sequence_->tokens() : std::span<const TokenId>(tokens_);
  }
  // That memory should be there for when it begins, or begins again.
  [[nodiscard]] uint64_t promised_tokens() const;
  [[nodiscard]] uint64_t answer_left() const { return answer_max_ - answer_count_; }

  // Takes over what the prefix trie has of the tokens.
  void Start();
  // Gives the memory back; what was computed stays as cache. It can start again.
  void Suspend();
  // No more steps will come, whatever the reason: what was computed stays for others.
  void Finish();
  [[nodiscard]] bool is_running() const { return sequence_.has_value(); }
  [[nodiscard]] bool has_started() const { return has_started_; }  // once, at least

  // Of a running one.
  [[nodiscard]] const SequenceView& view() const { return sequence_->view(); }
  [[nodiscard]] uint32_t computed() const { return sequence_->token_count(); }
  [[nodiscard]] uint32_t left() const {  // known tokens that are not computed, at least 1
    return static_cast<uint32_t>(sequence_->tokens().size()) - sequence_->token_count();
  }
  // The prompt's own log-probabilities are wanted and not all there yet.
  [[nodiscard]] bool NeedsAllLogits() const { return request_.prompt_logprobs && !is_prompt_read_; }
  // What it computes becomes cache; after a flush no more, known from its next whole tile on.
  [[nodiscard]] bool publishes() const { return !sequence_->is_detached(); }
  // Others begin with the first `position` tokens too: they should be able to resume there.
  void ExpectBranch(uint32_t position) { sequence_->ExpectBranch(position); }

  // kResourceExhausted when memory is missing; then the sequence is as before (cached tiles may
  // have left). Requires 1 <= count <= left().
  Result<void> BeginStep(uint32_t count);
  [[nodiscard]] bool is_in_step() const { return chunk_.has_value(); }
  [[nodiscard]] ForwardSegment segment();
  // A reason: the answer is complete and the caller owes the sink the last event.
  [[nodiscard]] std::optional<FinishReason> EndStep(std::span<const float> rows);

 private:
  void ReportPrompt();
  void CountStart();
  void KeepPromptLogprobs(std::span<const float> rows, uint32_t first, uint32_t count);
  // Draws the token that follows from `logits`: an event and the next decode row, or the end.
  std::optional<FinishReason> Draw(std::span<const float> logits);

  GenerationParts parts_;
  GenerationRequest request_;
  const EventSink& sink_;
  uint32_t prompt_count_;
  std::vector<TokenId> tokens_;  // while it does not run
  std::optional<CachedSequence> sequence_;
  std::optional<KvChunk> chunk_;
  SequenceStart start_;  // the first
  Sampler sampler_;
  uint64_t answer_max_;
  uint64_t answer_count_ = 0;
  std::vector<SampledToken> prompt_logprobs_;
  bool has_started_ = false;
  uint32_t computed_before_ = 0;  // when it was suspended
  bool is_prompt_read_ = false;
  TimePoint started_at_;
};

}  // namespace weir
