// One of the answers to a request, from its engine events to its text, log-probabilities and
// chunks. Answer puts the choices of a request together.
//
// Ownership: borrows the tokenizer and the head. Threads: one at a time.
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

// What the choices of a request share.
struct ChoiceSpec {
  bool stream = false;
  bool logprobs = false;
  LeadingSpace leading = LeadingSpace::kKeep;
  std::vector<std::string> stops = {};
};

// echo: the answer begins with this text, and with logprobs these tokens.
struct Echo {
  std::string text;
  std::vector<TokenId> tokens;
};

class Choice {
 public:
  // `echo` may be null; `spec` and `echo` must outlive this.
  Choice(const AnswerHead& head, uint32_t index, const ChoiceSpec& spec, const Echo* echo,
         const Tokenizer& tokenizer);

  void OnPrompt(const PromptEvent& event);
  // May end the choice (done()): the caller then cancels its request.
  void OnToken(const SampledToken& sampled);
  // The engine has ended it. Requires !done().
  void OnFinish(FinishReason reason);

  [[nodiscard]] bool done() const { return done_; }
  [[nodiscard]] FinishReason finish_reason() const { return reason_; }
  [[nodiscard]] uint64_t completion_tokens() const { return completion_tokens_; }

  // Stream: the chunks made since the last call.
  [[nodiscard]] std::vector<Json> TakeChunks();
  // Plain: once done().
  [[nodiscard]] Json TakeJson();

 private:
  void AddText(const std::string& text);
  void End(FinishReason reason);
  [[nodiscard]] Json TakeLogprobs();

  const AnswerHead& head_;
  const uint32_t index_;
  const ChoiceSpec& spec_;
  const Echo* echo_;
  const Tokenizer& tokenizer_;
  AnswerText text_stream_;
  CompletionLogprobs completion_logprobs_;
  std::vector<SampledToken> chat_tokens_;  // whose log-probabilities are not written yet
  bool chat_begun_ = false;                // some log-probabilities are
  uint64_t completion_tokens_ = 0;
  std::string text_;          // plain: the whole; stream: unused
  std::vector<Json> chunks_;  // stream: not taken yet
  bool done_ = false;
  FinishReason reason_ = FinishReason::kStop;
};

}  // namespace weir
