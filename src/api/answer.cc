#include "api/answer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {

struct Answer::State {
  AnswerHead head;
  AnswerSpec spec;
  std::vector<Choice> choices;
  uint32_t open_choices = 0;
  TokenSources sources;
  std::string frames;  // stream: not taken yet
};

Answer::Answer(AnswerHead head, AnswerSpec spec, const Tokenizer& tokenizer)
    : state_(std::make_unique<State>()) {
  WEIR_CHECK(!spec.prompts.empty() && spec.choices_per_prompt > 0);
  state_->head = std::move(head);
  state_->spec = std::move(spec);
  for (const AnswerPrompt& prompt : state_->spec.prompts) {
    for (uint32_t i = 0; i < state_->spec.choices_per_prompt; ++i) {
      state_->choices.emplace_back(state_->head, choice_count(), state_->spec.choice,
                                   prompt.echo ? &*prompt.echo : nullptr, tokenizer);
    }
  }
  state_->open_choices = choice_count();
}

Answer::~Answer() = default;
Answer::Answer(Answer&&) noexcept = default;

uint32_t Answer::choice_count() const { return static_cast<uint32_t>(state_->choices.size()); }

void Answer::AddChunk(Json chunk) {
  // OpenAI: with include_usage every other chunk has a null.
  if (state_->spec.include_usage && !chunk.contains("usage")) chunk["usage"] = nullptr;
  state_->frames += SseFrame(DumpJson(chunk));
}

// After every event of `choice`.
void Answer::Drain(uint32_t choice) {
  for (Json& chunk : state_->choices[choice].TakeChunks()) AddChunk(std::move(chunk));
  if (!done(choice) || --state_->open_choices > 0 || !state_->spec.choice.stream) return;
  if (state_->spec.include_usage) AddChunk(UsageChunk(state_->head, usage()));
  state_->frames += kSseDone;
}

bool Answer::CountsPrompt(uint32_t choice) const {
  return choice % state_->spec.choices_per_prompt == 0;
}

void Answer::OnPrompt(uint32_t choice, const PromptEvent& event) {
  if (CountsPrompt(choice)) {
    state_->sources.device += event.sources.device;
    state_->sources.replayed += event.sources.replayed;
    state_->sources.computed += event.sources.computed;
  }
  state_->choices[choice].OnPrompt(event);
  Drain(choice);
}

void Answer::OnToken(uint32_t choice, const SampledToken& sampled) {
  state_->choices[choice].OnToken(sampled);
  Drain(choice);
}

void Answer::OnFinish(uint32_t choice, FinishReason reason) {
  state_->choices[choice].OnFinish(reason);
  Drain(choice);
}

bool Answer::done(uint32_t choice) const { return state_->choices[choice].done(); }
bool Answer::done() const { return state_->open_choices == 0; }

FinishReason Answer::finish_reason() const {
  const auto by_length = [](const Choice& choice) {
    return choice.finish_reason() == FinishReason::kLength;
  };
  return std::ranges::any_of(state_->choices, by_length) ? FinishReason::kLength
                                                         : FinishReason::kStop;
}

Usage Answer::usage() const {
  Usage usage{.prompt_sources = state_->sources};
  for (const AnswerPrompt& prompt : state_->spec.prompts) {
    usage.prompt_tokens += prompt.token_count;
  }
  for (const Choice& choice : state_->choices) {
    usage.completion_tokens += choice.completion_tokens();
  }
  return usage;
}

std::string Answer::TakeFrames() { return std::exchange(state_->frames, {}); }

std::string Answer::TakeBody() {
  WEIR_CHECK(done() && !state_->spec.choice.stream);
  Json choices = Json::array();
  for (Choice& choice : state_->choices) choices.push_back(choice.TakeJson());
  return DumpJson(PlainAnswer(state_->head, std::move(choices), usage()));
}

}  // namespace weir
