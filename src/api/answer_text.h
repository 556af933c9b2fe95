// The text side of one answer: tokens in, text for the client out.
//
// token bytes -> whole characters (Utf8Stream) -> leading space -> stop strings (StopMatcher).
// Whether an answer is streamed or not, its text comes out of here, so both are equal.
//
// Ownership: borrows the tokenizer. Threads: one at a time.
#pragma once

#include <string>
#include <vector>

#include "api/stop_matcher.h"
#include "base/ids.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace weir {

// A template whose turn opener ends without a space ("Assistant:") makes the model begin with one.
enum class LeadingSpace : bool { kKeep, kStrip };

class AnswerText {
 public:
  AnswerText(const Tokenizer& tokenizer, std::vector<std::string> stops, LeadingSpace leading);

  // Text that is certain now; may be empty. Not to be called once stopped().
  [[nodiscard]] std::string Push(TokenId token);
  // The rest, when no token follows: an unfinished character becomes U+FFFD. May stop.
  [[nodiscard]] std::string Finish();

  // A stop string has been found: the answer is over.
  [[nodiscard]] bool stopped() const { return stops_.matched(); }

 private:
  std::string Strip(std::string text);

  const Tokenizer& tokenizer_;
  Utf8Stream utf8_;
  StopMatcher stops_;
  LeadingSpace leading_;  // kKeep once text has come
};

}  // namespace weir
