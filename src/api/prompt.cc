#include "api/prompt.h"

#include <algorithm>

#include "text/prompt_part.h"

namespace weir {
namespace {

std::vector<TokenId> ControlTokens(const Vocabulary& vocabulary,
                                   const std::vector<TokenId>& tokens) {
  std::vector<TokenId> out;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(out), [&](TokenId token) {
    const auto index = static_cast<size_t>(token.value());
    return index < vocabulary.kinds.size() && vocabulary.kinds[index] == TokenKind::kControl;
  });
  return out;
}

// As one text, so that merges span template and user text; but only if the control tokens that come
// out are exactly those that the template wrote. Else part by part.
std::vector<TokenId> EncodeParts(const Tokenizer& tokenizer, const Prompt& parts) {
  std::string whole;
  std::vector<TokenId> part_by_part;
  std::vector<TokenId> written_by_template;
  for (const PromptPart& part : parts) {
    const SpecialTokens special =
        part.parse_special ? SpecialTokens::kParse : SpecialTokens::kAsText;
    const std::vector<TokenId> tokens = tokenizer.Encode(part.text, special, AddBos::kNo);
    const std::vector<TokenId> control = ControlTokens(tokenizer.vocabulary(), tokens);
    written_by_template.insert(written_by_template.end(), control.begin(), control.end());
    part_by_part.insert(part_by_part.end(), tokens.begin(), tokens.end());
    whole += part.text;
  }
  std::vector<TokenId> merged = tokenizer.Encode(whole, SpecialTokens::kParse, AddBos::kNo);
  return ControlTokens(tokenizer.vocabulary(), merged) == written_by_template ? merged
                                                                              : part_by_part;
}

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

ApiResult<std::vector<TokenId>> PromptWriter::FromChat(const ChatRequest& request,
                                                       std::string_view today,
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
  std::vector<TokenId> tokens = EncodeParts(tokenizer_, *parts);
  const bool has_bos = !tokens.empty() && vocabulary.bos == tokens.front();
  if (vocabulary.add_bos && vocabulary.bos && !has_bos) {
    tokens.insert(tokens.begin(), *vocabulary.bos);
  }
  WEIR_TRY(CheckCount(tokens.size(), answer_tokens));
  return tokens;
}

}  // namespace weir
