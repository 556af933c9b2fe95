// Expected failures of the library as values, in standard types only.
//
// Trouble that a correct caller can meet (a budget used up, a layout from a file) is an Error. A
// broken precondition ("Requires ...") prints a line and stops the program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace weir::kv {

enum class ErrorCode : uint8_t {
  kInvalidArgument,    // the caller's value is wrong: the same call fails again
  kResourceExhausted,  // a budget is used up now: later may be better
};

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;  // what, where, the numbers, and what happens now
};

// A value or why there is none. Reading the one that is not there throws std::bad_variant_access.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Expected(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  [[nodiscard]] T& operator*() & { return std::get<0>(state_); }
  [[nodiscard]] const T& operator*() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& operator*() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] T* operator->() { return &std::get<0>(state_); }
  [[nodiscard]] const T* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace weir::kv
