// The answer to one request from its engine events to its bytes: a JSON body, or frames of a
// stream. It has a choice for each answer that the request asks for.
//
//   events:  of each choice PromptEvent, TokenEvent..., end   (handed over in order; the choices
//            may mix)
//   stream:  of each choice role, text chunks, end chunk; then usage chunk, [DONE]
//
// completion_tokens counts the tokens up to and including the one that settled a stop string; the
// model's end token is none. With log-probabilities there is one entry for each counted token.
// usage counts each prompt once, however many answers it has.
//
// Ownership: borrows the tokenizer. Threads: one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer_json.h"
#include "api/choice.h"
#include "engine/engine.h"

namespace weir {

struct AnswerPrompt {
  uint64_t token_count = 0;
  std::optional<Echo> echo = {};
};

struct AnswerSpec {
  ChoiceSpec choice;
  bool include_usage = false;
  std::vector<AnswerPrompt> prompts = {};  // at least one
  uint32_t choices_per_prompt = 1;
};

class Answer {
 public:
  Answer(AnswerHead head, AnswerSpec spec, const Tokenizer& tokenizer);
  ~Answer();
  Answer(Answer&&) noexcept;
  Answer& operator=(Answer&&) = delete;

  // The choices of the first prompt, then those of the second, ...: choice c of prompt p has the
  // index p * choices_per_prompt + c.
  [[nodiscard]] uint32_t choice_count() const;

  void OnPrompt(uint32_t choice, const PromptEvent& event);
  // May end the choice (done(choice)): the caller then cancels its request.
  void OnToken(uint32_t choice, const SampledToken& sampled);
  // The engine has ended it. Requires !done(choice).
  void OnFinish(uint32_t choice, FinishReason reason);

  [[nodiscard]] bool done(uint32_t choice) const;
  [[nodiscard]] bool done() const;  // all are
  // kLength if any choice ended so. Requires done().
  [[nodiscard]] FinishReason finish_reason() const;
  [[nodiscard]] Usage usage() const;
  // Whether this choice's prompt event is the one that usage takes the prompt's sources from.
  [[nodiscard]] bool CountsPrompt(uint32_t choice) const;

  // Stream: the frames made since the last call; the last ones end with [DONE].
  [[nodiscard]] std::string TakeFrames();
  // Plain: the body, once done().
  [[nodiscard]] std::string TakeBody();

 private:
  struct State;
  void Drain(uint32_t choice);
  void AddChunk(Json chunk);

  std::unique_ptr<State> state_;  // choices point into it
};

}  // namespace weir
