#include "api/chat_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "api/fields.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant",
                                                    "tool"};

// The text of one content part, or an error under `fields`' name for the whole content.
std::string PartText(const Json& part, Fields& fields) {
  if (!part.is_object()) {
    fields.Refuse("content", fmt::format("has {} where a content part must be", KindOf(part)));
    return {};
  }
  const auto type = part.find("type");
  if (type == part.end() || !type->is_string()) {
    fields.Refuse("content", "has a part without a type");
    return {};
  }
  const auto& name = type->get_ref<const std::string&>();
  if (name == "image_url" || name == "input_audio" || name == "file" || name == "video_url") {
    fields.RefuseUnsupported("content",
                             fmt::format("part \"{}\": the model reads text only", name));
    return {};
  }
  if (name != "text") {
    fields.Refuse("content", "part type is not known; it must be \"text\"");
    return {};
  }
  const auto text = part.find("text");
  if (text == part.end() || !text->is_string()) {
    fields.Refuse("content", "has a text part without text");
    return {};
  }
  return text->get<std::string>();
}

std::string ReadContent(const Json& message, bool may_be_absent, Fields& fields) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) {
    if (!may_be_absent) fields.Refuse("content", "is missing");
    return {};
  }
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array() || content->empty()) {
    fields.Refuse("content", content->is_array()
                                 ? "is an empty list"
                                 : fmt::format("must be a string or a list of parts, and is {}",
                                               KindOf(*content)));
    return {};
  }
  std::string joined;
  for (const Json& part : *content) joined += PartText(part, fields);
  return joined;
}

// Calls of an earlier turn. Templates write the arguments as an object; the API sends its text.
Json ReadToolCalls(const Json& calls, Fields& fields) {
  Json out = Json::array();
  if (!calls.is_array()) {
    fields.Refuse("tool_calls", fmt::format("must be a list, and is {}", KindOf(calls)));
    return out;
  }
  for (const Json& call : calls) {
    const auto function = call.is_object() ? call.find("function") : call.end();
    const bool named = call.is_object() && function != call.end() && function->is_object() &&
                       function->contains("name") && function->at("name").is_string();
    if (!named) {
      fields.Refuse("tool_calls", "has an entry without a function's name");
      return out;
    }
    Json copy = call;
    Json& arguments = copy["function"]["arguments"];
    if (arguments.is_string()) {
      ApiResult<Json> parsed = ParseJson(arguments.get_ref<const std::string&>());
      if (parsed && parsed->is_object()) arguments = *std::move(parsed);
    }
    out.push_back(std::move(copy));
  }
  return out;
}

ApiResult<Json> NormalizeMessage(const Json& message, size_t index) {
  const std::string place = fmt::format("messages[{}]", index);
  if (!message.is_object()) {
    return tl::make_unexpected(InvalidField(
        place, fmt::format("{} must be an object, and is {}", place, KindOf(message))));
  }
  Fields fields(message, place + ".");
  const std::optional<std::string> role = fields.Text("role");
  if (!role) {
    fields.Refuse("role", "is missing");
  } else if (!IsRole(*role)) {
    fields.Refuse("role", fmt::format("must be one of {}", fmt::join(kRoles, ", ")));
  }
  if (fields.error()) return tl::make_unexpected(*fields.error());

  Json out = {{"role", *role == "developer" ? "system" : *role},
              {"content", ReadContent(message, *role == "assistant", fields)}};
  for (const char* name : {"name", "tool_call_id", "reasoning_content"}) {
    if (auto text = fields.Text(name)) out[name] = *std::move(text);
  }
  if (const Json* calls = fields.Find("tool_calls"); calls != nullptr && *role == "assistant") {
    out["tool_calls"] = ReadToolCalls(*calls, fields);
  }
  if (fields.error()) return tl::make_unexpected(*fields.error());
  return out;
}

}  // namespace

bool IsRole(std::string_view text) {
  return std::find(kRoles.begin(), kRoles.end(), text) != kRoles.end();
}

ApiResult<Json> NormalizeMessages(const Json* messages) {
  if (messages == nullptr) {
    return tl::make_unexpected(InvalidField("messages", "messages is missing"));
  }
  if (!messages->is_array() || messages->empty()) {
    return tl::make_unexpected(InvalidField(
        "messages", messages->is_array()
                        ? "messages is an empty list"
                        : fmt::format("messages must be a list, and is {}", KindOf(*messages))));
  }
  Json out = Json::array();
  for (size_t i = 0; i < messages->size(); ++i) {
    out.push_back(WEIR_TRY(NormalizeMessage((*messages)[i], i)));
  }
  return out;
}

}  // namespace weir
