// Lists of counts as llama-bench takes them: "512", "128,256", "1-4", "0-4096+1024", "1-16*2".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace weir {

// kInvalidArgument, naming `flag` and the part at fault.
[[nodiscard]] Result<std::vector<uint32_t>> ParseNumberList(const std::string& flag,
                                                            const std::string& text);

}  // namespace weir
