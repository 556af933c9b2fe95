#include "api/choice.h"

#include <utility>

#include "base/check.h"

namespace weir {

Choice::Choice(const AnswerHead& head, uint32_t index, const ChoiceSpec& spec, const Echo* echo,
               const Tokenizer& tokenizer)
    : head_(head),
      index_(index),
      spec_(spec),
      echo_(echo),
      tokenizer_(tokenizer),
      text_stream_(tokenizer, spec.stops, spec.leading),
      completion_logprobs_(tokenizer) {}

Json Choice::TakeLogprobs() {
  if (!spec_.logprobs) return nullptr;
  if (head_.kind == AnswerKind::kCompletion) return completion_logprobs_.Take();
  const LeadingSpace leading = chat_begun_ ? LeadingSpace::kKeep : spec_.leading;
  chat_begun_ = chat_begun_ || !chat_tokens_.empty();
  Json out = ChatLogprobs(tokenizer_, chat_tokens_, leading);
  chat_tokens_.clear();
  return out;
}

void Choice::AddText(const std::string& text) {
  if (!spec_.stream) {
    text_ += text;
  } else if (!text.empty() || spec_.logprobs) {
    chunks_.push_back(TextChunk(head_, index_, text, TakeLogprobs()));
  }
}

void Choice::OnPrompt(const PromptEvent& event) {
  if (spec_.stream && head_.kind == AnswerKind::kChat) chunks_.push_back(RoleChunk(head_, index_));
  if (echo_ == nullptr) return;
  if (spec_.logprobs) {
    if (!echo_->tokens.empty()) completion_logprobs_.AddUnknown(echo_->tokens.front());
    for (const SampledToken& token : event.logprobs) completion_logprobs_.Add(token);
  }
  AddText(echo_->text);
}

void Choice::OnToken(const SampledToken& sampled) {
  WEIR_CHECK(!done_);
  ++completion_tokens_;
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

void Choice::OnFinish(FinishReason reason) {
  WEIR_CHECK(!done_);
  const std::string rest = text_stream_.Finish();
  if (!spec_.stream) {
    text_ += rest;
  } else if (!rest.empty()) {
    chunks_.push_back(TextChunk(head_, index_, rest, nullptr));
  }
  End(text_stream_.stopped() ? FinishReason::kStop : reason);
}

void Choice::End(FinishReason reason) {
  done_ = true;
  reason_ = reason;
  if (spec_.stream) chunks_.push_back(EndChunk(head_, index_, reason));
}

std::vector<Json> Choice::TakeChunks() { return std::exchange(chunks_, {}); }

Json Choice::TakeJson() {
  WEIR_CHECK(done_ && !spec_.stream);
  Json logprobs = TakeLogprobs();
  return PlainChoice(head_.kind, index_, text_, std::move(logprobs), reason_);
}

}  // namespace weir
