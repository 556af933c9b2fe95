// The inside of a string literal, its escapes resolved.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace weir::jinja {

// Python's escapes but \N{name}, which is an Error; an unknown one stays as it is.
Result<std::string> UnescapeString(std::string_view text);

}  // namespace weir::jinja
