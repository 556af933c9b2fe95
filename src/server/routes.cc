#include "server/routes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace weir {
namespace {

constexpr std::array<std::pair<std::string_view, Route>, 10> kPaths = {{
    {"/v1/chat/completions", Route::kChatCompletions},
    {"/v1/completions", Route::kCompletions},
    {"/tokenize", Route::kTokenize},
    {"/detokenize", Route::kDetokenize},
    {"/v1/models", Route::kModels},
    {"/health", Route::kHealth},
    {"/v1/health", Route::kHealth},
    {"/metrics", Route::kMetrics},
    {"/v1/cache", Route::kCache},
    {"/v1/cache/flush", Route::kCacheFlush},
}};
constexpr std::string_view kModelPrefix = "/v1/models/";

std::string PercentDecode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    if (text[i] == '%' && text.size() - i > 2) {
      const char* digits = text.data() + i + 1;
      if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
        out += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

// A whole URI (absolute-form, RFC 9112 section 3.2.2) without its scheme and authority.
std::string_view WithoutAuthority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view begin = target.substr(0, scheme.size());
    if (!std::equal(begin.begin(), begin.end(), scheme.begin(), scheme.end(),
                    [](char a, char b) { return std::tolower(static_cast<uint8_t>(a)) == b; })) {
      continue;
    }
    target.remove_prefix(scheme.size());
    return target.substr(std::min(target.find_first_of("/?#"), target.size()));
  }
  return target;
}

}  // namespace

Target FindTarget(std::string_view target) {
  target = WithoutAuthority(target);
  const std::string_view path = target.substr(0, target.find_first_of("?#"));
  for (const auto& [known, route] : kPaths) {
    if (path == known) return {route, {}};
  }
  if (path.starts_with(kModelPrefix) && path.size() > kModelPrefix.size()) {
    return {Route::kModel, PercentDecode(path.substr(kModelPrefix.size()))};
  }
  return {};
}

bool IsForAdmin(Route route) {
  return route == Route::kMetrics || route == Route::kCache || route == Route::kCacheFlush;
}

bool TakesBody(Route route) {
  return route == Route::kChatCompletions || route == Route::kCompletions ||
         route == Route::kTokenize || route == Route::kDetokenize || route == Route::kCacheFlush;
}

std::string_view AllowedMethods(Route route) {
  return TakesBody(route) ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

}  // namespace weir
