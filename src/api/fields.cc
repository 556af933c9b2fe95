#include "api/fields.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {
namespace {

// A whole number as it stands in JSON, if it is one and fits 64 bits.
struct Whole {
  bool negative = false;
  uint64_t magnitude = 0;
};

std::optional<Whole> ReadWhole(const Json& value) {
  if (value.is_number_unsigned()) return Whole{false, value.get<uint64_t>()};
  if (value.is_number_integer()) {
    const auto number = value.get<int64_t>();
    return Whole{number < 0,
                 number < 0 ? ~static_cast<uint64_t>(number) + 1 : static_cast<uint64_t>(number)};
  }
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) <= 9007199254740992.0) {  // 2^53
      return Whole{number < 0, static_cast<uint64_t>(std::abs(number))};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string_view KindOf(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

const Json* Fields::Find(std::string_view name) const {
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool Fields::Flag(std::string_view name, bool if_absent) {
  const Json* value = Find(name);
  if (value == nullptr) return if_absent;
  if (!value->is_boolean()) {
    Refuse(name, fmt::format("must be true or false, and is {}", KindOf(*value)));
    return if_absent;
  }
  return value->get<bool>();
}

double Fields::Number(std::string_view name, double if_absent, NumberRange range) {
  const Json* value = Find(name);
  if (value == nullptr) return if_absent;
  if (!value->is_number()) {
    Refuse(name, fmt::format("must be a number, and is {}", KindOf(*value)));
    return if_absent;
  }
  const auto number = value->get<double>();
  if (!(number >= range.low && number <= range.high)) {  // NaN too
    Refuse(name, fmt::format("must be from {} to {}, and is {}", range.low, range.high, number));
    return if_absent;
  }
  return number;
}

int64_t Fields::Integer(std::string_view name, int64_t if_absent, int64_t low, int64_t high) {
  const Json* value = Find(name);
  if (value == nullptr) return if_absent;
  const std::optional<Whole> whole = ReadWhole(*value);
  if (!whole) {
    Refuse(name, value->is_number()
                     ? "must be a whole number of at most 64 bits"
                     : fmt::format("must be a whole number, and is {}", KindOf(*value)));
    return if_absent;
  }
  const bool fits = whole->magnitude <= uint64_t{INT64_MAX};
  const int64_t number = fits ? (whole->negative ? -static_cast<int64_t>(whole->magnitude)
                                                 : static_cast<int64_t>(whole->magnitude))
                              : 0;
  if (!fits || number < low || number > high) {
    Refuse(name, fmt::format("must be from {} to {}, and is {}{}", low, high,
                             whole->negative ? "-" : "", whole->magnitude));
    return if_absent;
  }
  return number;
}

std::optional<uint64_t> Fields::Count(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<Whole> whole = ReadWhole(*value);
  if (!whole || whole->negative) {
    Refuse(name, value->is_number()
                     ? "must be a whole number, 0 or more, of at most 64 bits"
                     : fmt::format("must be a whole number, and is {}", KindOf(*value)));
    return std::nullopt;
  }
  return whole->magnitude;
}

std::optional<std::string> Fields::Text(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) {
    Refuse(name, fmt::format("must be a string, and is {}", KindOf(*value)));
    return std::nullopt;
  }
  return value->get<std::string>();
}

void Fields::Refuse(std::string_view name, std::string_view message) {
  Keep(InvalidField(fmt::format("{}{}", prefix_, name),
                    fmt::format("{}{}: {}", prefix_, name, message)));
}

void Fields::RefuseUnsupported(std::string_view name, std::string_view message) {
  Keep(UnsupportedField(fmt::format("{}{}", prefix_, name),
                        fmt::format("{}{}: {}", prefix_, name, message)));
}

}  // namespace weir
