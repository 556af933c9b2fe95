// The version of this program, as CMake's project() has it: "1.2.3".
#pragma once

#include <string_view>

namespace weir {

[[nodiscard]] std::string_view Version();

}  // namespace weir
