// A file named by a flag, read whole.
#pragma once

#include <string>

#include "base/result.h"

namespace weir {

// kInvalidArgument: a folder or an empty file. kNotFound: it cannot be read. The message begins
// with `path`.
[[nodiscard]] Result<std::string> ReadTextFile(const std::string& path);

}  // namespace weir
