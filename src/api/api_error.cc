#include "api/api_error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weir {
namespace {

constexpr const char* kServerError = "server_error";
constexpr const char* kOverloaded = "overloaded_error";

}  // namespace

ApiError InvalidField(std::string param, std::string message) {
  return {.status = 400,
          .message = std::move(message),
          .param = std::move(param),
          .code = "invalid_value"};
}

ApiError UnsupportedField(std::string param, std::string message) {
  return {.status = 400,
          .message = std::move(message),
          .param = std::move(param),
          .code = "unsupported_parameter"};
}

ApiError InvalidBody(std::string message) {
  return {.status = 400, .message = std::move(message), .param = {}, .code = "invalid_body"};
}

ApiError WrongKey(std::string message) {
  return {.status = 401, .message = std::move(message), .param = {}, .code = "invalid_api_key"};
}

ApiError KeyLimitReached(std::string message) {
  return {.status = 429,
          .message = std::move(message),
          .type = "rate_limit_error",
          .param = {},
          .code = "rate_limit_exceeded"};
}

ApiError ContextExceeded(uint64_t prompt_tokens, PromptCount count, uint64_t context_tokens) {
  return {.status = 400,
          .message = fmt::format(
              "the context is {} tokens for prompt and answer, and the prompt has {}{} tokens; "
              "shorten it",
              context_tokens, count == PromptCount::kExact ? "" : "at least ", prompt_tokens),
          .param = {},
          .code = "context_length_exceeded"};
}

ApiError FromError(const Error& error) {
  ApiError out{
      .status = 500, .message = error.message, .type = kServerError, .param = {}, .code = {}};
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      out.status = 400;
      out.type = "invalid_request_error";
      break;
    case ErrorCode::kNotFound:
      out.status = 404;
      out.type = "invalid_request_error";
      break;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
      out.status = 503;
      out.type = kOverloaded;
      break;
    case ErrorCode::kCancelled:
      out.status = 499;
      break;
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
      break;
  }
  return out;
}

bool IsOverload(const ApiError& error) { return error.status == 503 || error.status == 429; }

std::string ErrorBody(const ApiError& error) {
  const auto optional = [](const std::optional<std::string>& text) {
    return text ? nlohmann::ordered_json(*text) : nlohmann::ordered_json(nullptr);
  };
  const nlohmann::ordered_json body = {{"error",
                                        {{"message", error.message},
                                         {"type", error.type},
                                         {"param", optional(error.param)},
                                         {"code", optional(error.code)}}}};
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace weir
