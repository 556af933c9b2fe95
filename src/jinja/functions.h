// Functions that templates call by name: range, dict, raise_exception, strftime_now.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jinja/callable.h"

namespace weir::jinja {

struct Date {
  int year = 0;
  int month = 0;  // 1..12
  int day = 0;    // 1..31
};

// "29 Nov 2026", or nullopt.
[[nodiscard]] std::optional<Date> ParseDate(std::string_view text);
// As strftime in the C locale, at midnight; fails for a code that is not built.
Result<std::string> FormatDate(const Date& date, std::string_view format);

struct Functions {
  std::optional<Date> today;  // absent: strftime_now is not defined
};

Result<Value> CallRange(Meter& meter, const Arguments& arguments);
Result<Value> CallDict(Meter& meter, const Arguments& arguments);
Result<Value> CallStrftimeNow(const Functions& functions, const Arguments& arguments);

}  // namespace weir::jinja
