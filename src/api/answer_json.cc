#include "api/answer_json.h"

#include <utility>

namespace weir {
namespace {

Json HeadJson(const AnswerHead& head, const char* chat_object) {
  return {{"id", head.id},
          {"object", head.kind == AnswerKind::kChat ? chat_object : "text_completion"},
          {"created", head.created},
          {"model", head.model}};
}

// OpenAI's fields, and prompt_tokens_sources, which is Weir's own.
Json UsageJson(const Usage& usage) {
  const TokenSources& sources = usage.prompt_sources;
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", sources.device}}},
          {"prompt_tokens_sources",
           {{"device", sources.device},
            {"replayed", sources.replayed},
            {"computed", sources.computed}}}};
}

// A chunk with one choice. `content` is the delta of a chat, the text of a completion.
Json Chunk(const AnswerHead& head, uint32_t index, Json content, Json logprobs, Json finish) {
  Json choice = {{"index", index}};
  choice[head.kind == AnswerKind::kChat ? "delta" : "text"] = std::move(content);
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = std::move(finish);
  Json out = HeadJson(head, "chat.completion.chunk");
  out["choices"] = Json::array({std::move(choice)});
  return out;
}

}  // namespace

std::string_view FinishName(FinishReason reason) {
  return reason == FinishReason::kLength ? "length" : "stop";
}

Json PlainChoice(AnswerKind kind, uint32_t index, const std::string& text, Json logprobs,
                 FinishReason reason) {
  Json choice = {{"index", index}};
  if (kind == AnswerKind::kChat) {
    choice["message"] = {{"role", "assistant"}, {"content", text}, {"refusal", nullptr}};
  } else {
    choice["text"] = text;
  }
  choice["logprobs"] = std::move(logprobs);
  choice["finish_reason"] = FinishName(reason);
  return choice;
}

Json PlainAnswer(const AnswerHead& head, Json choices, const Usage& usage) {
  Json out = HeadJson(head, "chat.completion");
  out["choices"] = std::move(choices);
  out["usage"] = UsageJson(usage);
  return out;
}

Json RoleChunk(const AnswerHead& head, uint32_t index) {
  return Chunk(head, index, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
}

Json TextChunk(const AnswerHead& head, uint32_t index, const std::string& text, Json logprobs) {
  Json content = head.kind == AnswerKind::kChat ? Json{{"content", text}} : Json(text);
  return Chunk(head, index, std::move(content), std::move(logprobs), nullptr);
}

Json EndChunk(const AnswerHead& head, uint32_t index, FinishReason reason) {
  Json content = head.kind == AnswerKind::kChat ? Json::object() : Json("");
  return Chunk(head, index, std::move(content), nullptr, FinishName(reason));
}

Json UsageChunk(const AnswerHead& head, const Usage& usage) {
  Json out = HeadJson(head, "chat.completion.chunk");
  out["choices"] = Json::array();
  out["usage"] = UsageJson(usage);
  return out;
}

std::string SseFrame(std::string_view data) {
  std::string frame = "data: ";
  frame.reserve(data.size() + 8);
  frame += data;
  frame += "\n\n";
  return frame;
}

}  // namespace weir
