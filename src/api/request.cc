#include "api/request.h"

#include <fmt/format.h>

#include "api/answer_options.h"
#include "api/chat_messages.h"
#include "api/fields.h"
#include "api/token_list.h"

namespace weir {
namespace {

constexpr uint64_t kCompletionTokensDefault = 16;  // OpenAI's

ApiResult<PromptInput> ReadOnePrompt(const Json& prompt, const ServedModel& model) {
  if (prompt.is_string()) return PromptInput(prompt.get<std::string>());
  return PromptInput(WEIR_TRY(ReadTokenList(prompt, "prompt", model.vocab_size)));
}

// A string, a list of token ids, or a list of these.
ApiResult<std::vector<PromptInput>> ReadPrompts(const Json* prompt, const ServedModel& model,
                                                uint32_t choices) {
  if (prompt == nullptr) return tl::make_unexpected(InvalidField("prompt", "prompt is missing"));
  const bool several = prompt->is_array() && !prompt->empty() &&
                       ((*prompt)[0].is_string() || (*prompt)[0].is_array());
  std::vector<PromptInput> out;
  if (!several) {
    out.push_back(WEIR_TRY(ReadOnePrompt(*prompt, model)));
    return out;
  }
  if (prompt->size() * choices > kAnswersMax) {
    return tl::make_unexpected(InvalidField(
        "prompt",
        fmt::format("prompt: {} prompts with n = {} ask for {} answers, and a request may "
                    "have {}",
                    prompt->size(), choices, prompt->size() * choices, kAnswersMax)));
  }
  for (const Json& one : *prompt) out.push_back(WEIR_TRY(ReadOnePrompt(one, model)));
  return out;
}

// logprobs of /v1/completions: a count.
std::optional<uint32_t> ReadLogprobCount(Fields& fields) {
  if (const Json* count = fields.Find("top_logprobs"); count != nullptr && *count != 0) {
    fields.Refuse("top_logprobs", "is of chats; here logprobs is the number of alternatives");
  }
  if (fields.Find("logprobs") == nullptr) return std::nullopt;
  return static_cast<uint32_t>(fields.Integer("logprobs", 0, 0, kTopLogprobsMax));
}

// logprobs and top_logprobs of a chat: a switch and a count.
std::optional<uint32_t> ReadChatLogprobs(Fields& fields) {
  const bool wanted = fields.Flag("logprobs", false);
  const auto count = static_cast<uint32_t>(fields.Integer("top_logprobs", 0, 0, kTopLogprobsMax));
  if (wanted) return count;
  if (count > 0) fields.Refuse("top_logprobs", "needs logprobs to be true");
  return std::nullopt;
}

// Variables that a client may hand to the template, besides those that the server sets.
Json ReadTemplateExtra(Fields& fields) {
  Json extra = nullptr;
  if (const Json* given = fields.Find("chat_template_kwargs")) {
    if (given->is_object()) {
      extra = *given;
    } else {
      fields.Refuse("chat_template_kwargs",
                    fmt::format("must be an object, and is {}", KindOf(*given)));
    }
    for (const char* name :
         {"messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"}) {
      if (given->contains(name)) {
        fields.Refuse("chat_template_kwargs", fmt::format("may not set {}", name));
      }
    }
  }
  if (auto effort = fields.Text("reasoning_effort")) extra["reasoning_effort"] = *std::move(effort);
  return extra;
}

}  // namespace

ApiResult<CompletionRequest> ParseCompletionRequest(std::string_view body, const ServedModel& model,
                                                    uint64_t random_seed) {
  const Json object = WEIR_TRY(ParseJsonObject(body));
  Fields fields(object);
  RefuseUnbuilt(fields);
  CompletionRequest out;
  out.options = ReadAnswerOptions(fields, model, kCompletionTokensDefault, random_seed);
  out.options.top_logprobs = ReadLogprobCount(fields);
  out.echo = fields.Flag("echo", false);
  out.parse_special = fields.Flag("parse_special", false);
  if (out.echo && out.options.top_logprobs && out.options.choices > 1) {
    fields.Refuse("n", "must be 1 with echo and logprobs: a prompt has one set of them");
  }
  if (fields.error()) return tl::make_unexpected(*fields.error());
  out.prompts = WEIR_TRY(ReadPrompts(fields.Find("prompt"), model, out.options.choices));
  return out;
}

ApiResult<ChatRequest> ParseChatRequest(std::string_view body, const ServedModel& model,
                                        uint64_t random_seed) {
  const Json object = WEIR_TRY(ParseJsonObject(body));
  Fields fields(object);
  RefuseUnbuilt(fields);
  ChatRequest out;
  out.options = ReadAnswerOptions(fields, model, UINT64_MAX, random_seed);
  out.options.top_logprobs = ReadChatLogprobs(fields);
  out.template_extra = ReadTemplateExtra(fields);
  if (fields.error()) return tl::make_unexpected(*fields.error());
  const Json* messages = fields.Find("messages");
  // A message is at least one token: no need to render what cannot fit.
  if (messages != nullptr && messages->is_array() && messages->size() > model.context_tokens) {
    return tl::make_unexpected(
        ContextExceeded(messages->size(), PromptCount::kAtLeast, model.context_tokens));
  }
  out.messages = WEIR_TRY(NormalizeMessages(messages));
  return out;
}

}  // namespace weir
