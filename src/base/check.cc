#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void CheckFailed(std::string_view condition, std::string_view file, int line) {
  std::fprintf(stderr, "%.*s:%d: check failed: %.*s\n", static_cast<int>(file.size()), file.data(),
               line, static_cast<int>(condition.size()), condition.data());
  std::abort();
}

}  // namespace weir
