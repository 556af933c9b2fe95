// One answer from its engine events to its bytes: a JSON body, or frames of a stream.
//
//   events:  PromptEvent, TokenEvent..., end     (the caller hands them over in order)
//   stream:  role, text chunks, end chunk, usage chunk, [DONE]
//
// completion_tokens counts the tokens up to and including the one that settled a stop string; the
// model's end token is none. With log-probabilities there is one entry for each counted token.
//
// Ownership: borrows the tokenizer. Threads: one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/answer_json.h"
#include "api/answer_text.h"
#include "api/logprobs.h"
#include "engine/engine.h"

namespace weir {

struct AnswerSpec {
  bool stream = false;
  bool include_usage = false;
  bool logprobs = false;
  LeadingSpace leading = LeadingSpace::kKeep;
  std::vector<std::string> stops = {};
  uint64_t prompt_tokens = 0;
  // echo: the answer begins with this text, and with logprobs these tokens.
  std::optional<std::string> echo_text = {};
  std::vector<TokenId> echo_tokens = {};
};

class Answer {
 public:
  Answer(AnswerHead head, AnswerSpec spec, const Tokenizer& tokenizer);

  void OnPrompt(const PromptEvent& event);
  // May end the answer (done()): the caller then cancels the request.
  void OnToken(const SampledToken& sampled);
  // The engine has ended it. Requires !done().
  void OnFinish(FinishReason reason);

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] FinishReason finish_reason() const { return reason_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }

  // Stream: the frames made since the last call; the last ones end with [DONE].
  [[nodiscard]] std::string TakeFrames();
  // Plain: the body, once done().
  [[nodiscard]] std::string TakeBody();

 private:
  void AddChunk(Json chunk);
  void AddText(const std::string& text);
  void End(FinishReason reason);
  [[nodiscard]] Json TakeLogprobs();

  AnswerHead head_;
  AnswerSpec spec_;
  const Tokenizer& tokenizer_;
  AnswerText text_stream_;
  CompletionLogprobs completion_logprobs_;
  std::vector<SampledToken> chat_tokens_;  // whose log-probabilities are not written yet
  bool chat_begun_ = false;                // some log-probabilities are
  Usage usage_;
  std::string text_;    // plain: the whole; stream: unused
  std::string frames_;  // stream: not taken yet
  bool done_ = false;
  FinishReason reason_ = FinishReason::kStop;
};

}  // namespace weir
