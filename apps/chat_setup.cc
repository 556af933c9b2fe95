#include "chat_setup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "text_file.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 3> kBuiltIn = {"gemma", "chatml", "transcript"};

Result<ChatTemplate> FromFile(const std::string& path) {
  const auto text = ReadTextFile(path);
  if (text) return ChatTemplate::Create(*text);
  if (text.error().code == ErrorCode::kInvalidArgument) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--chat-template {}", text.error().message));
  }
  return Fail(
      ErrorCode::kInvalidArgument,
      fmt::format("--chat-template {}: neither a file nor gemma, chatml, transcript", path));
}

}  // namespace

Result<ChatTemplate> LoadChatTemplate(const LoadedModel& loaded, const ModelOptions& options) {
  const std::string& wanted = options.chat_template;
  if (std::find(kBuiltIn.begin(), kBuiltIn.end(), wanted) != kBuiltIn.end()) {
    return ChatTemplate::BuiltIn(wanted);
  }
  if (!wanted.empty()) return FromFile(wanted);
  const auto own = WEIR_TRY(loaded.file.String("tokenizer.chat_template"));
  if (!own) {
    fmt::print(stderr,
               "weir: the model has no chat template; chats are written as a plain transcript "
               "(--chat-template overrides)\n");
    return ChatTemplate::BuiltIn("transcript");
  }
  Result<ChatTemplate> made = ChatTemplate::Create(*own);
  if (!made) {
    return Fail(made.error().code,
                fmt::format("the model's chat template: {}; --chat-template overrides it",
                            made.error().message));
  }
  return made;
}

std::string Today() { return fmt::format("{:%d %b %Y}", fmt::localtime(std::time(nullptr))); }

}  // namespace weir
