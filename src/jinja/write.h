// Values as text: Python's str() and repr(), and json.dumps().
//
// User text keeps its origin in the result. Threads: pure.
#pragma once

#include <optional>
#include <string>

#include "jinja/value.h"

namespace weir::jinja {

// str(value): what {{ value }} prints; undefined prints nothing.
Result<Text> ToText(Meter& meter, const Value& value);
// repr(value): strings in quotes.
Result<void> AppendRepr(Meter& meter, const Value& value, Text& out);

// Python's shortest form: 1.0, 1e+16, nan.
[[nodiscard]] std::string FormatDouble(double value);

struct JsonStyle {
  std::optional<std::string> indent;  // of one level; absent: one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii_only = false;
  bool sort_keys = false;
};
Result<void> AppendJson(Meter& meter, const Value& value, const JsonStyle& style, Text& out);

}  // namespace weir::jinja
