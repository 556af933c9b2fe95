// Templates for models whose file has none.
#pragma once

#include <string_view>

namespace weir {

struct BuiltInTemplate {
  std::string_view name;
  std::string_view source;       // Jinja
  std::string_view stop_string;  // empty: end tokens are enough
  bool strips_leading_space = false;
};

// Null if there is none of this name.
[[nodiscard]] const BuiltInTemplate* FindBuiltInTemplate(std::string_view name);

}  // namespace weir
