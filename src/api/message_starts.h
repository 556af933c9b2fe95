// Where in a rendered chat the content of each message begins.
//
// A template writes messages in order; some it joins, shortens (old reasoning) or leaves out. What
// users wrote are parts of their own, so a message is found by a part that is its content, begins
// or ends with it, or is its end.
//
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "api/json_body.h"
#include "text/prompt_part.h"

namespace weir {

// Indices of parts, ascending, at most one a message. Messages whose content is empty or is not
// found have none. `messages` as of NormalizeMessages. Linear in the bytes of both.
[[nodiscard]] std::vector<size_t> FindMessageStarts(const Prompt& prompt, const Json& messages);

}  // namespace weir
