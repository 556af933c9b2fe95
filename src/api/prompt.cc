#include "api/prompt.h"

#include <algorithm>
#include <utility>

#include "api/message_starts.h"
#include "text/prompt_part.h"

namespace weir {
namespace {

std::string TokenText(const Tokenizer& tokenizer, const std::optional<TokenId>& token) {
  return token ? tokenizer.Piece(*token, SpecialTokens::kParse) : std::string();
}

}  // namespace

PromptWriter::PromptWriter(const Tokenizer& tokenizer, const ChatTemplate& chat_template,
                           uint32_t context_tokens)
    : tokenizer_(tokenizer), chat_template_(chat_template), context_tokens_(context_tokens) {
  for (const auto& text : tokenizer.vocabulary().texts) {
    token_bytes_max_ = std::max(token_bytes_max_, text.size());
  }
}

ApiResult<void> PromptWriter::CheckBytes(size_t text_bytes) const {
  const uint64_t tokens_at_least = text_bytes / token_bytes_max_;
  if (tokens_at_least <= context_tokens_) return {};
  return tl::make_unexpected(
      ContextExceeded(tokens_at_least, PromptCount::kAtLeast, context_tokens_));
}

ApiResult<void> PromptWriter::CheckCount(size_t tokens, uint64_t answer_tokens) const {
  if (tokens == 0) {
    return tl::make_unexpected(InvalidField("prompt", "the prompt is empty: it has no token"));
  }
  if (tokens + answer_tokens <= context_tokens_) return {};
  return tl::make_unexpected(ContextExceeded(tokens, PromptCount::kExact, context_tokens_));
}

ApiResult<std::vector<TokenId>> PromptWriter::FromInput(const PromptInput& prompt,
                                                        SpecialTokens special,
                                                        uint64_t answer_tokens) const {
  std::vector<TokenId> tokens;
  if (const auto* text = std::get_if<std::string>(&prompt)) {
    WEIR_TRY(CheckBytes(text->size()));
    tokens = tokenizer_.Encode(*text, special, AddBos::kAsModelWants);
  } else {
    tokens = std::get<std::vector<TokenId>>(prompt);
  }
  WEIR_TRY(CheckCount(tokens.size(), answer_tokens));
  return tokens;
}

ApiResult<ChatPrompt> PromptWriter::FromChat(const ChatRequest& request, std::string_view today,
                                             uint64_t answer_tokens) const {
  const Vocabulary& vocabulary = tokenizer_.vocabulary();
  ChatInput input;
  input.messages = request.messages;
  input.extra = request.template_extra;
  input.bos_text = TokenText(tokenizer_, vocabulary.bos);
  input.eos_text = TokenText(tokenizer_, vocabulary.eos);
  input.today = today;
  Result<Prompt> parts = chat_template_.Render(input);
  if (!parts) {
    ApiError error = FromError(parts.error());
    if (error.status == 400) error.param = "messages";
    return tl::make_unexpected(std::move(error));
  }
  size_t bytes = 0;
  for (const PromptPart& part : *parts) bytes += part.text.size();
  WEIR_TRY(CheckBytes(bytes));
  Tokenizer::EncodedParts encoded = tokenizer_.EncodeParts(*parts, AddBos::kNo);
  ChatPrompt prompt{.tokens = std::move(encoded.tokens), .message_starts = {}};
  const bool has_bos = !prompt.tokens.empty() && vocabulary.bos == prompt.tokens.front();
  const bool add_bos = vocabulary.add_bos && vocabulary.bos && !has_bos;
  if (add_bos) prompt.tokens.insert(prompt.tokens.begin(), *vocabulary.bos);
  WEIR_TRY(CheckCount(prompt.tokens.size(), answer_tokens));
  for (const size_t part : FindMessageStarts(*parts, request.messages)) {
    const uint32_t start = encoded.tokens_before[part] + (add_bos ? 1 : 0);
    const uint32_t last = prompt.message_starts.empty() ? 0 : prompt.message_starts.back();
    if (start > last && start < prompt.tokens.size()) prompt.message_starts.push_back(start);
  }
  return prompt;
}

}  // namespace weir
