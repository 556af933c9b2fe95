#include "load/server_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace weir {
namespace {

bool IsPort(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

std::string ServerUrl::HostHeader() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<ServerUrl> ParseServerUrl(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  const auto fail = [text](std::string_view why) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no server's URL like http://127.0.0.1:8080: {}", text, why));
  };
  if (text.starts_with("https://")) {
    return Fail(ErrorCode::kUnsupported, fmt::format("{}: https is not built; only http is", text));
  }
  if (!text.starts_with(kScheme)) return fail("it does not begin with http://");
  if (!IsPlain(text)) return fail("blanks or bytes that are not ASCII");
  std::string_view rest = text.substr(kScheme.size());
  ServerUrl url;
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.path = rest.substr(slash);
  while (url.path.ends_with('/')) url.path.pop_back();
  rest = rest.substr(0, slash);
  const size_t bracket = rest.rfind(']');
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    if (!IsPort(rest.substr(colon + 1))) return fail("the port is no number");
    url.port = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty()) return fail("no host");
  url.host = rest;
  return url;
}

}  // namespace weir
