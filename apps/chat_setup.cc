#include "chat_setup.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace weir {
namespace {

constexpr std::array<std::string_view, 3> kBuiltIn = {"gemma", "chatml", "transcript"};

Result<ChatTemplate> FromFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("--chat-template {}: neither a file nor gemma, chatml, transcript", path));
  }
  if (!text) {  // nothing came: a folder opens, but has no bytes
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--chat-template {}: is empty or a folder", path));
  }
  return ChatTemplate::Create(std::move(text).str());
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
