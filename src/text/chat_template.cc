#include "text/chat_template.h"

#include <utility>

#include "jinja/evaluator.h"
#include "jinja/parser.h"
#include "text/chat_template_builtin.h"
#include "text/chat_template_input.h"

namespace weir {

struct ChatTemplate::State {
  jinja::Body body;
  std::vector<std::string> stop_strings;
  bool strips_leading_space = false;
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

const std::vector<std::string>& ChatTemplate::stop_strings() const { return state_->stop_strings; }
bool ChatTemplate::strips_leading_space() const { return state_->strips_leading_space; }

Result<ChatTemplate> ChatTemplate::Create(std::string_view source) {
  constexpr size_t kMaxSourceBytes = 1 << 20;
  if (source.size() > kMaxSourceBytes) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a chat template of {} bytes; at most {} are read", source.size(),
                            kMaxSourceBytes));
  }
  auto state = std::make_unique<State>();
  state->body = WEIR_TRY(jinja::Parse(source));
  return ChatTemplate(std::move(state));
}

Result<ChatTemplate> ChatTemplate::BuiltIn(std::string_view name) {
  const BuiltInTemplate* found = FindBuiltInTemplate(name);
  if (found == nullptr) {
    return Fail(
        ErrorCode::kNotFound,
        fmt::format("no built-in chat template '{}'; there are gemma, chatml and transcript",
                    name));
  }
  ChatTemplate chat_template = WEIR_TRY(Create(found->source));
  if (!found->stop_string.empty()) {
    chat_template.state_->stop_strings.emplace_back(found->stop_string);
  }
  chat_template.state_->strips_leading_space = found->strips_leading_space;
  return chat_template;
}

namespace {

Prompt SplitByOrigin(const jinja::Text& text) {
  Prompt prompt;
  size_t at = 0;
  const auto add = [&](size_t end, bool parse_special) {
    if (end > at) prompt.push_back({std::string(text.view().substr(at, end - at)), parse_special});
    at = end;
  };
  for (const auto& range : text.user_ranges()) {
    add(range.begin, true);
    add(range.end, false);
  }
  add(text.byte_count(), true);
  return prompt;
}

}  // namespace

Result<Prompt> ChatTemplate::Render(const ChatInput& input) const {
  const TemplateVariables variables =
      WEIR_TRY(ReadTemplateInput(input, jinja::Limits{}.value_depth));
  jinja::Meter meter(jinja::LimitsFor(variables.input_bytes));
  jinja::Evaluator evaluator(meter, {.today = variables.today});
  for (const auto& [name, value] : variables.values) evaluator.Define(name, value);
  return SplitByOrigin(WEIR_TRY(evaluator.Run(state_->body)));
}

}  // namespace weir
