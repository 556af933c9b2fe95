#include "api/tokenize.h"

#include <fmt/format.h>

#include <utility>

#include "api/fields.h"
#include "api/token_list.h"

namespace weir {
namespace {

ApiError TooLong(std::string field, std::string message) {
  ApiError error = InvalidField(std::move(field), std::move(message));
  error.status = 413;
  return error;
}

}  // namespace

ApiResult<Json> Tokenize(std::string_view body, const Tokenizer& tokenizer,
                         const ServedModel& model) {
  const Json object = WEIR_TRY(ParseJsonObject(body));
  Fields fields(object);
  const std::optional<std::string> content = fields.Text("content");  // llama.cpp: no BOS
  const std::optional<std::string> prompt = fields.Text("prompt");    // vLLM: BOS
  bool add_special = fields.Flag("add_special_tokens", !content);
  add_special = fields.Flag("add_special", add_special);
  const bool parse_special = fields.Flag("parse_special", false);
  const bool with_pieces = fields.Flag("with_pieces", false);
  if (!content && !prompt) fields.Refuse("content", "is missing (or \"prompt\")");
  if (fields.error()) return tl::make_unexpected(*fields.error());

  const std::string& text = content ? *content : *prompt;
  const size_t bytes_max = with_pieces ? kPiecesBytesMax : kTokenizeBytesMax;
  if (text.size() > bytes_max) {
    return tl::make_unexpected(
        TooLong(content ? "content" : "prompt",
                fmt::format("the text has {} bytes; at most {} are tokenized{}", text.size(),
                            bytes_max, with_pieces ? " with their pieces" : "")));
  }
  const auto tokens =
      tokenizer.Encode(text, parse_special ? SpecialTokens::kParse : SpecialTokens::kAsText,
                       add_special ? AddBos::kAsModelWants : AddBos::kNo);
  Json list = Json::array();
  for (const TokenId token : tokens) {
    if (with_pieces) {
      list.push_back(
          {{"id", token.value()}, {"piece", tokenizer.Decode({token}, SpecialTokens::kParse)}});
    } else {
      list.push_back(token.value());
    }
  }
  return Json{{"tokens", std::move(list)},
              {"count", tokens.size()},
              {"max_model_len", model.context_tokens}};
}

ApiResult<Json> Detokenize(std::string_view body, const Tokenizer& tokenizer,
                           const ServedModel& model) {
  const Json object = WEIR_TRY(ParseJsonObject(body));
  const Fields fields(object);
  const Json* list = fields.Find("tokens");
  if (list == nullptr) return tl::make_unexpected(InvalidField("tokens", "tokens is missing"));
  if (list->is_array() && list->size() > kDetokenizeTokensMax) {
    return tl::make_unexpected(
        TooLong("tokens", fmt::format("the list has {} tokens; at most {} are detokenized",
                                      list->size(), kDetokenizeTokensMax)));
  }
  const std::vector<TokenId> tokens = WEIR_TRY(ReadTokenList(*list, "tokens", model.vocab_size));
  const std::string text = tokenizer.Decode(tokens, SpecialTokens::kParse);
  return Json{{"content", text}, {"prompt", text}};
}

}  // namespace weir
