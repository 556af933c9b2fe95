// Filters by the kind of value they work on; filters.cc names them all.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "jinja/callable.h"

namespace weir::jinja {

using FilterFunction = Result<Value> (*)(Meter&, const Value& input, const Arguments& arguments);
using FilterEntry = std::pair<std::string_view, FilterFunction>;

[[nodiscard]] std::span<const FilterEntry> TextFilters();
[[nodiscard]] std::span<const FilterEntry> NumberFilters();
[[nodiscard]] std::span<const FilterEntry> ListFilters();
[[nodiscard]] std::span<const FilterEntry> SelectionFilters();

}  // namespace weir::jinja
