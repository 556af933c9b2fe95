#include "engine/generation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// With prompt log-probabilities every row of a chunk has a whole vocabulary of logits: 1 MiB a row
// for Gemma.
constexpr uint32_t kLogprobChunk = 32;

TimePoint Now() { return std::chrono::steady_clock::now(); }

}  // namespace

uint32_t ChunkPacer::Next(uint32_t remaining) const {
  uint32_t chunk = std::min(remaining, chunk_max_);
  if (tokens_in_target_ < chunk) {
    const auto granules = static_cast<uint32_t>(tokens_in_target_) / kGranule;
    chunk = std::min(chunk, std::max(granules, 1U) * kGranule);
  }
  return chunk;
}

void ChunkPacer::Record(uint32_t tokens, std::chrono::nanoseconds took) {
  if (tokens < std::min(kGranule, chunk_max_)) return;  // too short to tell
  const double seconds = std::chrono::duration<double>(took).count();
  const double target = std::chrono::duration<double>(target_).count();
  tokens_in_target_ = target * tokens / std::max(seconds, 1e-9);
}

std::chrono::microseconds ChunkPacer::Estimate(uint32_t tokens) const {
  const double target_us = std::chrono::duration<double, std::micro>(target_).count();
  return std::chrono::microseconds(static_cast<int64_t>(tokens * target_us / tokens_in_target_));
}

Generation::Generation(const GenerationParts& parts, uint32_t context_tokens,
                       GenerationRequest request, const EventSink& sink)
    : parts_(parts),
      request_(std::move(request)),
      sink_(sink),
      sequence_(parts.trie, parts.cache, parts.rules, request_.cache_namespace),
      start_(sequence_.Start(request_.prompt, request_.message_starts,
                             request_.prompt_logprobs ? CachedSequence::Reuse::kNothing
                                                      : CachedSequence::Reuse::kAll)),
      sampler_(request_.sampling, request_.prompt),
      answer_max_(std::min<uint64_t>(request_.max_tokens, context_tokens - request_.prompt.size())),
      started_at_(Now()) {}

Result<std::optional<FinishReason>> Generation::Step() {
  return sequence_.token_count() < request_.prompt.size() ? PrefillStep() : DecodeStep();
}

Result<std::optional<FinishReason>> Generation::PrefillStep() {
  const auto prompt_count = static_cast<uint32_t>(request_.prompt.size());
  const uint32_t first = sequence_.token_count();
  uint32_t count = parts_.pacer.Next(prompt_count - first);
  if (request_.prompt_logprobs) count = std::min(count, kLogprobChunk);
  const bool is_last = first + count == prompt_count;
  const LogitsWanted wanted = request_.prompt_logprobs ? LogitsWanted::kAll
                              : is_last                ? LogitsWanted::kLast
                                                       : LogitsWanted::kNone;
  const auto begin = Now();
  const auto rows = WEIR_TRY(Forward(count, wanted));
  parts_.pacer.Record(count, Now() - begin);
  if (request_.prompt_logprobs) KeepPromptLogprobs(rows, first, count);
  if (!is_last) return std::optional<FinishReason>();

  CountStart();
  const size_t vocab_size = rows.size() / (wanted == LogitsWanted::kAll ? count : 1);
  sink_(PromptEvent{.sources = {.computed = prompt_count - start_.position,
                                .device = start_.replay_begin,
                                .replayed = start_.position - start_.replay_begin},
                    .full_length = start_.full_length,
                    .veto = start_.veto,
                    .logprobs = std::move(prompt_logprobs_),
                    .started_at = started_at_,
                    .at = Now()});
  return Draw(rows.last(vocab_size));
}

Result<std::optional<FinishReason>> Generation::DecodeStep() {
  const auto logits = WEIR_TRY(Forward(1, LogitsWanted::kLast));
  return Draw(logits);
}

// The prompt has been read: where its tokens came from.
void Generation::CountStart() {
  EngineStats& stats = parts_.stats;
  const auto prompt_count = static_cast<uint32_t>(request_.prompt.size());
  stats.prompt_tokens += prompt_count;
  stats.computed_tokens += prompt_count - start_.position;
  stats.replayed_tokens += start_.position - start_.replay_begin;
  stats.device_tokens += start_.replay_begin;
  const uint32_t vetoed = start_.full_length - start_.safe_length;
  if (start_.veto == ResumeVeto::kWindow) stats.vetoed_window_tokens += vetoed;
  if (start_.veto == ResumeVeto::kOwedRows) stats.vetoed_owed_tokens += vetoed;
  ++(start_.position == 0                    ? stats.began_cold
     : start_.replay_begin < start_.position ? stats.began_with_replay
                                             : stats.began_at_resume_point);
  stats.saved_us += static_cast<uint64_t>(parts_.pacer.Estimate(start_.replay_begin).count());
}

Result<std::span<const float>> Generation::Forward(uint32_t count, LogitsWanted wanted) {
  KvChunk chunk = WEIR_TRY(sequence_.BeginChunk(count));
  const auto tokens = sequence_.tokens().subspan(sequence_.token_count(), count);
  const ForwardSegment segment{.chunk = &chunk, .tokens = tokens, .logits = wanted};
  const auto rows = parts_.forward(std::span(&segment, 1));
  sequence_.Commit(std::move(chunk));
  return rows;
}

// Row i of a chunk foretells prompt token first + i + 1.
void Generation::KeepPromptLogprobs(std::span<const float> rows, uint32_t first, uint32_t count) {
  const size_t vocab_size = rows.size() / count;
  for (uint32_t i = 0; i < count && first + i + 1 < request_.prompt.size(); ++i) {
    prompt_logprobs_.push_back(LogprobOf(rows.subspan(i * vocab_size, vocab_size),
                                         request_.prompt[first + i + 1],
                                         request_.top_logprobs.value_or(0)));
  }
}

std::optional<FinishReason> Generation::Draw(std::span<const float> logits) {
  if (answer_count_ >= answer_max_) return FinishReason::kLength;
  const bool may_end = !request_.ignore_eos && answer_count_ >= request_.min_tokens;
  const auto banned = may_end ? std::span<const TokenId>() : std::span(request_.end_tokens);
  SampledToken sampled =
      sampler_.Sample(logits, sequence_.token_count(), banned, request_.top_logprobs);
  const auto& ends = request_.end_tokens;
  if (may_end && std::find(ends.begin(), ends.end(), sampled.token) != ends.end()) {
    return FinishReason::kStop;
  }
  sequence_.Append(sampled.token);
  ++answer_count_;
  ++parts_.stats.generated_tokens;
  sink_(TokenEvent{.sampled = std::move(sampled), .at = Now()});
  if (answer_count_ == answer_max_) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace weir
