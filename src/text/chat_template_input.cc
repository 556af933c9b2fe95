#include "text/chat_template_input.h"

#include <array>

namespace weir {

namespace {

using Json = nlohmann::ordered_json;

class Reader {
 public:
  explicit Reader(uint32_t max_depth) : meter_(Unlimited(max_depth)), max_depth_(max_depth) {}

  Result<jinja::Value> Read(const Json& json, uint32_t depth = 0) {
    if (depth >= max_depth_) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("the request is nested deeper than {}", max_depth_));
    }
    bytes_ += 64;
    switch (json.type()) {
      case Json::value_t::string:
        return ReadText(json.get_ref<const std::string&>());
      case Json::value_t::array:
        return ReadList(json, depth);
      case Json::value_t::object:
        return ReadDict(json, depth);
      case Json::value_t::boolean:
        return jinja::Value(json.get<bool>());
      case Json::value_t::number_integer:
        return jinja::Value(json.get<int64_t>());
      case Json::value_t::number_unsigned:
        return ReadUnsigned(json.get<uint64_t>());
      case Json::value_t::number_float:
        return jinja::Value(json.get<double>());
      default:
        return jinja::Value(jinja::None{});
    }
  }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  static jinja::Limits Unlimited(uint32_t max_depth) {
    return {.steps = UINT64_MAX, .allocated_bytes = UINT64_MAX, .value_depth = max_depth};
  }
  jinja::Value ReadText(const std::string& text) {
    bytes_ += text.size();
    return jinja::Value::FromText(jinja::Text(text, jinja::Origin::kUser));
  }
  static jinja::Value ReadUnsigned(uint64_t number) {
    if (number > INT64_MAX) return jinja::Value(number);
    return jinja::Value(static_cast<int64_t>(number));
  }
  Result<jinja::Value> ReadList(const Json& json, uint32_t depth) {
    std::vector<jinja::Value> items;
    items.reserve(json.size());
    for (const Json& item : json) items.push_back(WEIR_TRY(Read(item, depth + 1)));
    return jinja::MakeList(meter_, std::move(items));
  }
  Result<jinja::Value> ReadDict(const Json& json, uint32_t depth) {
    jinja::Dict dict;
    for (const auto& [key, value] : json.items()) {
      jinja::Value read = WEIR_TRY(Read(value, depth + 1));
      WEIR_TRY(dict.Set(ReadText(key), std::move(read)));
    }
    return jinja::MakeDict(meter_, std::move(dict));
  }

  jinja::Meter meter_;
  const uint32_t max_depth_;
  uint64_t bytes_ = 0;
};

// The first of the names that a message's reasoning goes by; null if it has none.
const Json* FindReasoning(const Json& message) {
  static constexpr std::array<const char*, 3> kNames = {"reasoning_content", "thinking",
                                                        "reasoning"};
  for (const char* name : kNames) {
    const auto found = message.find(name);
    if (found != message.end() && !found->is_null()) return &*found;
  }
  return nullptr;
}

Result<Json> WithReasoningNames(const Json& messages) {
  if (!messages.is_array()) {
    return Fail(ErrorCode::kInvalidArgument, "messages must be a list");
  }
  Json named = messages;
  for (Json& message : named) {
    if (!message.is_object()) {
      return Fail(ErrorCode::kInvalidArgument, "a message must be an object");
    }
    const Json* reasoning = FindReasoning(message);
    if (reasoning == nullptr) continue;
    const Json text = *reasoning;
    if (!message.contains("thinking")) message["thinking"] = text;
    message["reasoning_content"] = text;
  }
  return named;
}

}  // namespace

Result<TemplateVariables> ReadTemplateInput(const ChatInput& input, uint32_t max_depth) {
  TemplateVariables variables;
  Reader reader(max_depth);
  const auto define = [&](std::string name, jinja::Value value) {
    variables.values.emplace_back(std::move(name), std::move(value));
  };
  const Json messages = WEIR_TRY(WithReasoningNames(input.messages));
  define("messages", WEIR_TRY(reader.Read(messages)));
  define("tools", WEIR_TRY(reader.Read(input.tools)));
  define("documents", jinja::Value(jinja::None{}));
  define("add_generation_prompt", jinja::Value(input.add_generation_prompt));
  define("bos_token", jinja::Value::FromString(input.bos_text));
  define("eos_token", jinja::Value::FromString(input.eos_text));
  if (input.extra.is_object()) {
    for (const auto& [name, value] : input.extra.items())
      define(name, WEIR_TRY(reader.Read(value)));
  } else if (!input.extra.is_null()) {
    return Fail(ErrorCode::kInvalidArgument, "chat_template_kwargs must be an object");
  }
  if (!input.today.empty()) {
    variables.today = jinja::ParseDate(input.today);
    if (!variables.today) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no date like '29 Nov 2026'", input.today));
    }
  }
  variables.input_bytes = reader.bytes();
  return variables;
}

}  // namespace weir
