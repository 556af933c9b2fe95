#include "api/answer.h"

#include <utility>

#include "base/check.h"

namespace weir {

Answer::Answer(AnswerHead head, AnswerSpec spec, const Tokenizer& tokenizer)
    : head_(std::move(head)),
      spec_(std::move(spec)),
      tokenizer_(tokenizer),
      text_stream_(tokenizer, spec_.stops, spec_.leading),
      completion_logprobs_(tokenizer) {
  usage_.prompt_tokens = spec_.prompt_tokens;
}

void Answer::AddChunk(Json chunk) {
  // OpenAI: with include_usage every other chunk has a null.
  if (spec_.include_usage && !chunk.contains("usage")) chunk["usage"] = nullptr;
  frames_ += SseFrame(DumpJson(chunk));
}

Json Answer::TakeLogprobs() {
  if (!spec_.logprobs) return nullptr;
  if (head_.kind == AnswerKind::kCompletion) return completion_logprobs_.Take();
  const LeadingSpace leading = chat_begun_ ? LeadingSpace::kKeep : spec_.leading;
  chat_begun_ = chat_begun_ || !chat_tokens_.empty();
  Json out = ChatLogprobs(tokenizer_, chat_tokens_, leading);
  chat_tokens_.clear();
  return out;
}

void Answer::AddText(const std::string& text) {
  if (!spec_.stream) {
    text_ += text;
  } else if (!text.empty() || spec_.logprobs) {
    AddChunk(TextChunk(head_, text, TakeLogprobs()));
  }
}

void Answer::OnPrompt(const PromptEvent& event) {
  usage_.prompt_sources = event.sources;
  if (spec_.stream && head_.kind == AnswerKind::kChat) AddChunk(RoleChunk(head_));
  if (!spec_.echo_text) return;
  if (spec_.logprobs) {
    if (!spec_.echo_tokens.empty()) completion_logprobs_.AddUnknown(spec_.echo_tokens.front());
    for (const SampledToken& token : event.logprobs) completion_logprobs_.Add(token);
  }
  AddText(*spec_.echo_text);
}

void Answer::OnToken(const SampledToken& sampled) {
  WEIR_CHECK(!done_);
  ++usage_.completion_tokens;
  if (spec_.logprobs) {
    if (head_.kind == AnswerKind::kChat) {
      chat_tokens_.push_back(sampled);
    } else {
      completion_logprobs_.Add(sampled);
    }
  }
  AddText(text_stream_.Push(sampled.token));
  if (text_stream_.stopped()) End(FinishReason::kStop);
}

void Answer::OnFinish(FinishReason reason) {
  WEIR_CHECK(!done_);
  const std::string rest = text_stream_.Finish();
  if (!spec_.stream) {
    text_ += rest;
  } else if (!rest.empty()) {
    AddChunk(TextChunk(head_, rest, nullptr));
  }
  End(text_stream_.stopped() ? FinishReason::kStop : reason);
}

void Answer::End(FinishReason reason) {
  done_ = true;
  reason_ = reason;
  if (!spec_.stream) return;
  AddChunk(EndChunk(head_, reason));
  if (spec_.include_usage) AddChunk(UsageChunk(head_, usage_));
  frames_ += kSseDone;
}

std::string Answer::TakeFrames() { return std::exchange(frames_, {}); }

std::string Answer::TakeBody() {
  WEIR_CHECK(done_ && !spec_.stream);
  Json logprobs = TakeLogprobs();
  return DumpJson(PlainAnswer(head_, text_, std::move(logprobs), reason_, usage_));
}

}  // namespace weir
