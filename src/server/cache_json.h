// What GET /v1/cache answers.
//
// Pure, any thread.
#pragma once

#include "api/json_body.h"
#include "engine/cache_report.h"

namespace weir {

[[nodiscard]] Json CacheJson(const CacheReport& report);

}  // namespace weir
