#include "engine/generation.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weir {
namespace {

// Answer tokens that one which begins again has memory for.
constexpr uint64_t kGrowth = kTileTokens;

}  // namespace

Generation::Generation(const GenerationParts& parts, uint32_t context_tokens,
                       GenerationRequest request, const EventSink& sink)
    : parts_(parts),
      request_(std::move(request)),
      sink_(sink),
      prompt_count_(static_cast<uint32_t>(request_.prompt.size())),
      tokens_(std::move(request_.prompt)),
      sampler_(request_.sampling, tokens_),
      answer_max_(std::min<uint64_t>(request_.max_tokens, context_tokens - prompt_count_)) {}

uint64_t Generation::promised_tokens() const {
  const uint64_t at_begin = std::min<uint64_t>(answer_max_, kReservedAnswer);
  const uint64_t grown = answer_count_ + std::min(answer_left(), kGrowth);
  return prompt_count_ + std::max(at_begin, has_started_ ? grown : 0);
}

void Generation::Start() {
  sequence_.emplace(parts_.trie, parts_.cache, parts_.rules, request_.cache_namespace);
  const SequenceStart start = sequence_->Start(
      tokens_, request_.message_starts,
      NeedsAllLogits() ? CachedSequence::Reuse::kNothing : CachedSequence::Reuse::kAll);
  if (has_started_) {
    parts_.stats.recomputed_tokens += computed_before_ - std::min(computed_before_, start.position);
    prompt_logprobs_.clear();
  } else {
    start_ = start;
    started_at_ = parts_.now();
    has_started_ = true;
  }
}

void Generation::Suspend() {
  chunk_.reset();
  tokens_.assign(sequence_->tokens().begin(), sequence_->tokens().end());
  computed_before_ = sequence_->token_count();
  Finish();
}

void Generation::Finish() {
  if (!sequence_) return;
  chunk_.reset();
  sequence_->Finish();
  sequence_.reset();
}

Result<void> Generation::BeginStep(uint32_t count) {
  chunk_ = WEIR_TRY(sequence_->BeginChunk(count));
  return {};
}

ForwardSegment Generation::segment() {
  const uint32_t begin = chunk_->begin();
  const uint32_t end = chunk_->end();
  const bool is_last = end == sequence_->tokens().size();
  return {.chunk = &*chunk_,
          .tokens = sequence_->tokens().subspan(begin, end - begin),
          .logits = NeedsAllLogits() ? LogitsWanted::kAll
                    : is_last        ? LogitsWanted::kLast
                                     : LogitsWanted::kNone};
}

std::optional<FinishReason> Generation::EndStep(std::span<const float> rows) {
  const ForwardSegment computed = segment();
  const uint32_t first = chunk_->begin();
  const auto count = static_cast<uint32_t>(computed.tokens.size());
  if (computed.logits == LogitsWanted::kAll) KeepPromptLogprobs(rows, first, count);
  sequence_->Commit(std::move(*chunk_));
  chunk_.reset();
  if (first + count < sequence_->tokens().size()) return std::nullopt;
  if (!is_prompt_read_) ReportPrompt();
  const size_t vocab_size = rows.size() / (computed.logits == LogitsWanted::kAll ? count : 1);
  return Draw(rows.last(vocab_size));
}

void Generation::ReportPrompt() {
  is_prompt_read_ = true;
  CountStart();
  sink_(PromptEvent{.sources = {.computed = prompt_count_ - start_.position,
                                .device = start_.replay_begin,
                                .replayed = start_.position - start_.replay_begin},
                    .full_length = start_.full_length,
                    .veto = start_.veto,
                    .logprobs = std::move(prompt_logprobs_),
                    .started_at = started_at_,
                    .at = parts_.now()});
}

// The prompt has been read: where its tokens came from.
void Generation::CountStart() {
  EngineStats& stats = parts_.stats;
  stats.prompt_tokens += prompt_count_;
  stats.computed_tokens += prompt_count_ - start_.position;
  stats.replayed_tokens += start_.position - start_.replay_begin;
  stats.device_tokens += start_.replay_begin;
  const uint32_t vetoed = start_.full_length - start_.safe_length;
  if (start_.veto == ResumeVeto::kWindow) stats.vetoed_window_tokens += vetoed;
  if (start_.veto == ResumeVeto::kOwedRows) stats.vetoed_owed_tokens += vetoed;
  ++(start_.position == 0                    ? stats.began_cold
     : start_.replay_begin < start_.position ? stats.began_with_replay
                                             : stats.began_at_resume_point);
  const double saved =
      parts_.pace.PrefillSeconds({.first_position = 0, .tokens = start_.replay_begin});
  stats.saved_us += static_cast<uint64_t>(saved * 1e6);
}

// Row i of a chunk foretells prompt token first + i + 1.
void Generation::KeepPromptLogprobs(std::span<const float> rows, uint32_t first, uint32_t count) {
  const size_t vocab_size = rows.size() / count;
  for (uint32_t i = 0; i < count && first + i + 1 < prompt_count_; ++i) {
    prompt_logprobs_.push_back(LogprobOf(rows.subspan(i * vocab_size, vocab_size),
                                         sequence_->tokens()[first + i + 1],
                                         request_.top_logprobs.value_or(0)));
  }
}

std::optional<FinishReason> Generation::Draw(std::span<const float> logits) {
  if (answer_count_ >= answer_max_) return FinishReason::kLength;
  const bool may_end = !request_.ignore_eos && answer_count_ >= request_.min_tokens;
  const auto banned = may_end ? std::span<const TokenId>() : std::span(request_.end_tokens);
  SampledToken sampled =
      sampler_.Sample(logits, sequence_->token_count(), banned, request_.top_logprobs);
  const auto& ends = request_.end_tokens;
  if (may_end && std::find(ends.begin(), ends.end(), sampled.token) != ends.end()) {
    return FinishReason::kStop;
  }
  sequence_->Append(sampled.token);
  ++answer_count_;
  ++parts_.stats.generated_tokens;
  sink_(TokenEvent{.sampled = std::move(sampled), .at = parts_.now()});
  if (answer_count_ == answer_max_) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace weir
