// A chat template from a hostile model file, over a conversation: it must end soon, in an Error or
// in text whose user ranges are sound. Input: the template, and behind a NUL byte what the user
// says.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "jinja/evaluator.h"
#include "jinja/parser.h"
#include "text/chat_template_input.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

void CheckRanges(const jinja::Text& text) {
  size_t at = 0;
  bool is_first = true;
  for (const auto& range : text.user_ranges()) {
    if (range.begin >= range.end || range.end > text.byte_count()) std::abort();
    if (!is_first && range.begin <= at) std::abort();
    at = range.end;
    is_first = false;
  }
}

ChatInput Conversation(std::string_view content) {
  const std::string text(content);
  const Json call = {{"type", "function"},
                     {"function", {{"name", "f"}, {"arguments", {{"x", 1.5}, {"y", {1, 2}}}}}}};
  ChatInput input;
  input.messages = Json::array({{{"role", "system"}, {"content", text}},
                                {{"role", "user"}, {"content", text}},
                                {{"role", "assistant"}, {"content", ""}, {"tool_calls", {call}}},
                                {{"role", "tool"}, {"content", Json::array({text, 7, nullptr})}}});
  input.tools = Json::array({call});
  input.extra = {{"n", 7}, {"x", -2.5}, {"text", text}, {"items", {3, 1, 2}}, {"yes", true}};
  input.bos_text = "<bos>";
  input.today = "29 Nov 2026";
  return input;
}

void Render(std::string_view source, std::string_view content) {
  const auto body = jinja::Parse(source);
  if (!body) return;
  const jinja::Limits limits{.steps = 100'000, .allocated_bytes = 4 << 20, .output_bytes = 1 << 20};
  const auto variables = ReadTemplateInput(Conversation(content), limits.value_depth);
  if (!variables) std::abort();
  jinja::Meter meter(limits);
  jinja::Evaluator evaluator(meter, {.today = variables->today});
  for (const auto& [name, value] : variables->values) evaluator.Define(name, value);
  const auto text = evaluator.Run(*body);
  if (text) CheckRanges(*text);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = input.find('\0');
  const bool has_content = end != std::string_view::npos;
  weir::Render(input.substr(0, end), has_content ? input.substr(end + 1) : "<|im_end|> \xc3\xa9");
  return 0;
}
