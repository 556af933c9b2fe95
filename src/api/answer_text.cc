#include "api/answer_text.h"

#include <utility>

namespace weir {

AnswerText::AnswerText(const Tokenizer& tokenizer, std::vector<std::string> stops,
                       LeadingSpace leading)
    : tokenizer_(tokenizer), stops_(std::move(stops)), leading_(leading) {}

std::string AnswerText::Strip(std::string text) {
  if (leading_ == LeadingSpace::kStrip && !text.empty()) {
    leading_ = LeadingSpace::kKeep;
    if (text.front() == ' ') text.erase(0, 1);
  }
  return text;
}

std::string AnswerText::Push(TokenId token) {
  return stops_.Push(Strip(utf8_.Push(tokenizer_.Piece(token, SpecialTokens::kAsText))));
}

std::string AnswerText::Finish() {
  std::string text = stops_.Push(Strip(utf8_.Finish()));
  return text + stops_.Finish();
}

}  // namespace weir
