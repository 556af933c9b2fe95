// The filters and tests of Jinja that chat templates use.
#pragma once

#include <string_view>

#include "jinja/callable.h"

namespace weir::jinja {

[[nodiscard]] bool IsFilter(std::string_view name);
[[nodiscard]] bool IsTest(std::string_view name);

// Requires IsFilter(name), IsTest(name).
Result<Value> CallFilter(Meter& meter, std::string_view name, const Value& input,
                         const Arguments& arguments);
Result<bool> CallTest(Meter& meter, std::string_view name, const Value& input,
                      const Arguments& arguments);

}  // namespace weir::jinja
