// Broken invariants stop the program. Input, files and network must never reach a check.
#pragma once

#include <string_view>

namespace weir {

[[noreturn]] void CheckFailed(std::string_view condition, std::string_view file, int line);

}  // namespace weir

#define WEIR_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::weir::CheckFailed(#condition, __FILE__, __LINE__))

#ifdef NDEBUG
#define WEIR_DCHECK(condition) (void(sizeof(condition)))
#else
#define WEIR_DCHECK(condition) WEIR_CHECK(condition)
#endif
