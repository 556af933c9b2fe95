#include "api_key_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "text_file.h"

namespace weir {

namespace {

// An empty one is a secret that got lost, and must not open the server.
const CLI::Validator& NotEmpty() {
  static const CLI::Validator check(
      [](const std::string& text) { return text.empty() ? "must not be empty" : std::string(); },
      "");
  return check;
}

}  // namespace

void AddApiKeyOptions(CLI::App& app, ApiKeyOptions& options) {
  app.add_option("--api-key", options.keys,
                 "Key that clients must send; several between commas [none]")
      ->option_text("KEY")
      ->check(NotEmpty());
  app.add_option("--api-key-file", options.file,
                 "File of keys, a line each: KEY [NAME] [admin] [concurrent=N]")
      ->option_text("FILE")
      ->check(NotEmpty());
}

Result<ApiKeys> ReadApiKeys(const ApiKeyOptions& options) {
  ApiKeys keys;
  if (!options.file.empty()) {
    const std::string text = WEIR_TRY(ReadTextFile(options.file));
    keys = WEIR_TRY(ApiKeys::Parse(text, options.file));
  }
  std::string_view rest = options.keys;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find(','), rest.size());
    const Result<void> added = keys.Add(
        rest.substr(0, end), {.name = fmt::format("api-key-{}", number), .is_admin = true});
    if (!added) {
      return Fail(added.error().code,
                  fmt::format("--api-key number {}: {}", number, added.error().message));
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return keys;
}

}  // namespace weir
