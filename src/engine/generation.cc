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

Generation::Generation(const GenerationParts& parts, uint32_t context_tokens,
                       GenerationRequest request, const EventSink& sink)
    : parts_(parts),
      request_(std::move(request)),
      sink_(sink),
      view_(parts.cache),
      sampler_(request_.sampling, request_.prompt),
      answer_max_(std::min<uint64_t>(request_.max_tokens, context_tokens - request_.prompt.size())),
      started_at_(Now()) {}

Result<std::optional<FinishReason>> Generation::Step() {
  return view_.token_count() < request_.prompt.size() ? PrefillStep() : DecodeStep();
}

Result<std::optional<FinishReason>> Generation::PrefillStep() {
  const auto prompt_count = static_cast<uint32_t>(request_.prompt.size());
  const uint32_t first = view_.token_count();
  uint32_t count = parts_.pacer.Next(prompt_count - first);
  if (request_.prompt_logprobs) count = std::min(count, kLogprobChunk);
  const bool is_last = first + count == prompt_count;
  const LogitsWanted wanted = request_.prompt_logprobs ? LogitsWanted::kAll
                              : is_last                ? LogitsWanted::kLast
                                                       : LogitsWanted::kNone;
  const auto begin = Now();
  const auto rows = WEIR_TRY(Forward(std::span(request_.prompt).subspan(first, count), wanted));
  parts_.pacer.Record(count, Now() - begin);
  if (request_.prompt_logprobs) KeepPromptLogprobs(rows, first, count);
  if (!is_last) return std::optional<FinishReason>();

  parts_.stats.prompt_tokens += prompt_count;
  parts_.stats.computed_tokens += prompt_count;
  const size_t vocab_size = rows.size() / (wanted == LogitsWanted::kAll ? count : 1);
  sink_(PromptEvent{.sources = {.computed = prompt_count},
                    .logprobs = std::move(prompt_logprobs_),
                    .started_at = started_at_,
                    .at = Now()});
  return Draw(rows.last(vocab_size));
}

Result<std::optional<FinishReason>> Generation::DecodeStep() {
  const auto logits = WEIR_TRY(Forward(std::span(&last_token_, 1), LogitsWanted::kLast));
  return Draw(logits);
}

Result<std::span<const float>> Generation::Forward(std::span<const TokenId> tokens,
                                                   LogitsWanted wanted) {
  KvChunk chunk = WEIR_TRY(view_.BeginChunk(static_cast<uint32_t>(tokens.size())));
  const ForwardSegment segment{.chunk = &chunk, .tokens = tokens, .logits = wanted};
  const auto rows = parts_.forward(std::span(&segment, 1));
  view_.Commit(std::move(chunk));
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
      sampler_.Sample(logits, view_.token_count(), banned, request_.top_logprobs);
  last_token_ = sampled.token;
  const auto& ends = request_.end_tokens;
  if (may_end && std::find(ends.begin(), ends.end(), sampled.token) != ends.end()) {
    return FinishReason::kStop;
  }
  ++answer_count_;
  ++parts_.stats.generated_tokens;
  sink_(TokenEvent{.sampled = std::move(sampled), .at = Now()});
  if (answer_count_ == answer_max_) return FinishReason::kLength;
  return std::nullopt;
}

}  // namespace weir
