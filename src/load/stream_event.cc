#include "load/stream_event.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownBytes = 200;

const Json* Member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string Text(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_string() ? member->get<std::string>() : "";
}

uint32_t Count(const Json& object, const char* key) {
  const Json* member = Member(object, key);
  return member != nullptr && member->is_number_unsigned() ? member->get<uint32_t>() : 0;
}

std::string TextOfChoices(const Json& event) {
  std::string text;
  const Json* choices = Member(event, "choices");
  if (choices == nullptr || !choices->is_array()) return text;
  for (const Json& choice : *choices) {
    text += Text(choice, "text");
    const Json* delta = Member(choice, "delta");
    if (delta != nullptr) text += Text(*delta, "reasoning_content") + Text(*delta, "content");
  }
  return text;
}

StreamUsage UsageOf(const Json& usage) {
  StreamUsage parsed{.prompt_tokens = Count(usage, "prompt_tokens"),
                     .answer_tokens = Count(usage, "completion_tokens")};
  const Json* details = Member(usage, "prompt_tokens_details");
  if (details != nullptr) parsed.cached_tokens = Count(*details, "cached_tokens");
  return parsed;
}

std::string MessageOf(const Json& error) {
  if (error.is_string()) return error.get<std::string>();
  const std::string message = Text(error, "message");
  return message.empty() ? error.dump().substr(0, kShownBytes) : message;
}

}  // namespace

Result<StreamEvent> ParseStreamEvent(std::string_view data) {
  StreamEvent parsed;
  if (data == "[DONE]") {
    parsed.is_end = true;
    return parsed;
  }
  const Json event = Json::parse(data, nullptr, /*allow_exceptions=*/false);
  if (!event.is_object()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("an event that is no JSON object: {}", data.substr(0, kShownBytes)));
  }
  if (const Json* error = Member(event, "error")) parsed.error = MessageOf(*error);
  if (const Json* usage = Member(event, "usage")) parsed.usage = UsageOf(*usage);
  parsed.text = TextOfChoices(event);
  return parsed;
}

std::string ErrorMessage(std::string_view body) {
  const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  const Json* error = json.is_discarded() ? nullptr : Member(json, "error");
  return error != nullptr ? MessageOf(*error) : std::string(body.substr(0, kShownBytes));
}

}  // namespace weir
