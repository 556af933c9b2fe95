// Checks the messages of a chat and brings them into the one form that templates see.
//
// Out: a list of {"role", "content", and what a template may use: "name", "tool_calls",
// "tool_call_id", "reasoning_content"}. Content is always a string: text parts are joined, an
// assistant's null becomes "". The role "developer" becomes "system", which templates know.
#pragma once

#include <string_view>

#include "api/api_error.h"
#include "api/json_body.h"

namespace weir {

// "user", "assistant", ...
[[nodiscard]] bool IsRole(std::string_view text);

// `messages` is the field's value, null if absent. Errors name the message: "messages[2].role".
[[nodiscard]] ApiResult<Json> NormalizeMessages(const Json* messages);

}  // namespace weir
