// Expected failures as values.
//
// Result<T> is tl::expected<T, Error> that the compiler does not let you drop. Expected trouble
// (input, files, network, budgets) returns an Error; a broken invariant checks and stops (check.h).
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

namespace weir {

enum class ErrorCode : uint8_t {
  kInvalidArgument,    // the caller's value is wrong (HTTP 400, exit 2)
  kNotFound,           // no such file, model, path (404)
  kUnsupported,        // understood, but not built (400)
  kCorrupt,            // bytes from outside break their format
  kResourceExhausted,  // a budget is used up now; later may be better (503)
  kUnavailable,        // shutting down or not ready (503)
  kIo,                 // the operating system said no
  kCancelled,          // the asker went away
};

struct Error {
  ErrorCode code;
  std::string message;  // what, where, the numbers, and what happens now
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)

  T Take() && {  // also right for Result<void>
    if constexpr (!std::is_void_v<T>) return std::move(**this);
  }
};

[[nodiscard]] inline tl::unexpected<Error> Fail(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

// Unwraps a Result, or returns its Error from the enclosing function. One per statement.
#define WEIR_TRY(expr)                                         \
  __extension__({                                              \
    auto weir_try = (expr);                                    \
    if (!weir_try) {                                           \
      return tl::make_unexpected(std::move(weir_try).error()); \
    }                                                          \
    std::move(weir_try).Take();                                \
  })

}  // namespace weir
