// Texts and chats into prompt tokens that fit the context.
//
// A chat's own text can name control tokens; what people wrote never becomes one. BOS stands in
// front once if the model wants it.
//
// Ownership: borrows tokenizer and template. Threads: any (all const).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/request.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace weir {

struct ChatPrompt {
  std::vector<TokenId> tokens;
  // How many tokens end before the content of a message: ascending, none 0, at most one a message.
  std::vector<uint32_t> message_starts;
};

class PromptWriter {
 public:
  PromptWriter(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
               uint32_t context_tokens);

  // At least one token. `answer_tokens`: room that must be left, 0 or 1.
  [[nodiscard]] ApiResult<std::vector<TokenId>> FromInput(const PromptInput& prompt,
                                                          SpecialTokens special,
                                                          uint64_t answer_tokens) const;
  [[nodiscard]] ApiResult<ChatPrompt> FromChat(const ChatRequest& request, std::string_view today,
                                               uint64_t answer_tokens) const;

 private:
  // A text so long that it cannot fit is refused before it costs anything.
  [[nodiscard]] ApiResult<void> CheckBytes(size_t text_bytes) const;
  [[nodiscard]] ApiResult<void> CheckCount(size_t tokens, uint64_t answer_tokens) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate& chat_template_;
  uint32_t context_tokens_;
  size_t token_bytes_max_ = 1;  // of the longest token's text
};

}  // namespace weir
