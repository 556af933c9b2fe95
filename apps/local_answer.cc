#include "local_answer.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/bounded_queue.h"
#include "base/check.h"

namespace weir {
namespace {

double Seconds(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}

double Speed(uint32_t tokens, double seconds) { return seconds > 0 ? tokens / seconds : 0; }

}  // namespace

std::string AnswerTiming::Text() const {
  const std::string cached = cached_tokens > 0 ? fmt::format(" ({} cached)", cached_tokens) : "";
  return fmt::format(
      "{} prompt tokens{} in {:.2f} s ({:.1f} t/s), {} tokens in {:.2f} s ({:.1f} t/s)",
      prompt_tokens, cached, prompt_seconds, Speed(prompt_tokens - cached_tokens, prompt_seconds),
      answer_tokens, answer_seconds, Speed(answer_tokens, answer_seconds));
}

Result<LocalAnswer> AnswerLocally(Engine& engine, GenerationRequest request,
                                  const std::function<void(RequestId)>& on_submitted,
                                  const std::function<bool(TokenId)>& on_token) {
  // Holds every event that the request can have, so that the engine thread never waits or drops.
  const auto events =
      std::make_shared<BoundedQueue<GenerationEvent>>(engine.options().context_tokens + size_t{2});
  const RequestId id = WEIR_TRY(engine.Submit(std::move(request), [events](GenerationEvent event) {
    WEIR_CHECK(events->TryPush(std::move(event)));
  }));
  if (on_submitted) on_submitted(id);
  LocalAnswer answer;
  bool is_ended_here = false;
  TimePoint prompt_read_at{};
  while (auto event = events->Pop()) {
    if (auto* error = std::get_if<Error>(&*event)) return tl::make_unexpected(std::move(*error));
    if (const auto* finish = std::get_if<FinishEvent>(&*event)) {
      answer.reason = is_ended_here ? FinishReason::kStop : finish->reason;
      break;
    }
    if (const auto* prompt = std::get_if<PromptEvent>(&*event)) {
      const TokenSources& sources = prompt->sources;
      answer.timing.prompt_tokens = sources.computed + sources.replayed + sources.device;
      answer.timing.cached_tokens = sources.device;
      answer.timing.prompt_seconds = Seconds(prompt->started_at, prompt->at);
      prompt_read_at = prompt->at;
    } else if (const auto* token = std::get_if<TokenEvent>(&*event); token && !is_ended_here) {
      ++answer.timing.answer_tokens;
      answer.timing.answer_seconds = Seconds(prompt_read_at, token->at);
      if (on_token(token->sampled.token)) continue;
      is_ended_here = true;
      engine.Cancel(id);
    }
  }
  return answer;
}

}  // namespace weir
