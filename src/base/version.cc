#include "base/version.h"

namespace weir {

std::string_view Version() { return WEIR_VERSION; }

}  // namespace weir
