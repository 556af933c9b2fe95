// A whole HTTP answer before it is written.
#pragma once

#include <string>
#include <string_view>

#include "api/api_error.h"

namespace weir {

struct Reply {
  int status = 200;
  std::string body;
  std::string_view content_type = "application/json";
  std::string_view allow;    // Allow header; empty: none
  bool retry_after = false;  // Retry-After: 1
  bool ask_for_key = false;  // WWW-Authenticate: Bearer
};

[[nodiscard]] Reply ErrorReply(const ApiError& error);
[[nodiscard]] Reply ErrorReply(int status, std::string message);

}  // namespace weir
