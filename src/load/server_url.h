// Where the server is: "http://127.0.0.1:8080", with a path before /v1 if it has one. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

struct ServerUrl {
  std::string host;  // without the brackets of IPv6
  std::string port = "80";
  std::string path;  // "" or "/prefix", without a slash at the end

  [[nodiscard]] std::string HostHeader() const;
};

// kInvalidArgument: not such a URL; kUnsupported: https.
[[nodiscard]] Result<ServerUrl> ParseServerUrl(std::string_view text);

}  // namespace weir
