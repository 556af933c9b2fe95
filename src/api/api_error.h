// An answer that says no, in OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace weir {

struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::optional<std::string> param;  // the field at fault: "temperature", "messages[2].role"
  std::optional<std::string> code;
};

// As Result<T>, for what ends in an HTTP answer. WEIR_TRY works on it.
template <class T>
class [[nodiscard]] ApiResult : public tl::expected<T, ApiError> {
 public:
  using Base = tl::expected<T, ApiError>;
  using Base::Base;
  ApiResult(Base base) : Base(std::move(base)) {}  // NOLINT(google-explicit-constructor)

  T Take() && {
    if constexpr (!std::is_void_v<T>) return std::move(**this);
  }
};

// 400: the value of `param` is wrong.
[[nodiscard]] ApiError InvalidField(std::string param, std::string message);
// 400: `param` is understood, would change the answer, and is not built.
[[nodiscard]] ApiError UnsupportedField(std::string param, std::string message);
// 400: the body as a whole is no request.
[[nodiscard]] ApiError InvalidBody(std::string message);
// 401: no key, or not one of this server's.
[[nodiscard]] ApiError WrongKey(std::string message);
// 429: the caller's key has as much running as it may.
[[nodiscard]] ApiError KeyLimitReached(std::string message);
// 400 context_length_exceeded; the message holds both numbers. `prompt_is_exact` false: the prompt
// was not counted to its end.
enum class PromptCount : bool { kAtLeast, kExact };
[[nodiscard]] ApiError ContextExceeded(uint64_t prompt_tokens, PromptCount count,
                                       uint64_t context_tokens);
// The status that fits the code of an error from below.
[[nodiscard]] ApiError FromError(const Error& error);

// Whether the client may try again later (answers carry Retry-After).
[[nodiscard]] bool IsOverload(const ApiError& error);

[[nodiscard]] std::string ErrorBody(const ApiError& error);

}  // namespace weir
