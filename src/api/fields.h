// Reads optional fields of one JSON object with their types and ranges.
//
// null is as good as absent. The first wrong field is kept in error(); later reads then return
// their defaults, so a parser reads all it needs and looks once at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/api_error.h"
#include "api/json_body.h"

namespace weir {

struct NumberRange {
  double low;
  double high;
};

class Fields {
 public:
  // `object` must be an object and outlive this. `prefix` goes before names in errors:
  // "messages[2].".
  explicit Fields(const Json& object, std::string prefix = "")
      : object_(object), prefix_(std::move(prefix)) {}

  // The value, or null if absent or JSON null.
  [[nodiscard]] const Json* Find(std::string_view name) const;

  [[nodiscard]] bool Flag(std::string_view name, bool if_absent);
  [[nodiscard]] double Number(std::string_view name, double if_absent, NumberRange range);
  // Whole numbers; 3.0 counts as one. `low` may be negative, `high` at most 2^63 - 1.
  [[nodiscard]] int64_t Integer(std::string_view name, int64_t if_absent, int64_t low,
                                int64_t high);
  // Whole numbers from 0 to 2^64 - 1.
  [[nodiscard]] std::optional<uint64_t> Count(std::string_view name);
  [[nodiscard]] std::optional<std::string> Text(std::string_view name);

  void Refuse(std::string_view name, std::string_view message);
  void RefuseUnsupported(std::string_view name, std::string_view message);

  [[nodiscard]] const std::optional<ApiError>& error() const { return error_; }

 private:
  void Keep(ApiError error) {
    if (!error_) error_ = std::move(error);
  }

  const Json& object_;
  std::string prefix_;
  std::optional<ApiError> error_;
};

// "a string", "a number", ...: what a value is, for messages.
[[nodiscard]] std::string_view KindOf(const Json& value);

}  // namespace weir
