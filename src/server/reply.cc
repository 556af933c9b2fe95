#include "server/reply.h"

#include <utility>

namespace weir {

Reply ErrorReply(const ApiError& error) {
  return {.status = error.status,
          .body = ErrorBody(error),
          .content_type = "application/json",
          .allow = {},
          .retry_after = IsOverload(error),
          .ask_for_key = error.status == 401};
}

Reply ErrorReply(int status, std::string message) {
  ApiError error;
  error.status = status;
  error.message = std::move(message);
  if (status >= 500) error.type = status == 503 ? "overloaded_error" : "server_error";
  return ErrorReply(error);
}

}  // namespace weir
