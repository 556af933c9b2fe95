// What each path answers, without sockets: everything but the waiting.
//
// Ownership: borrows what it is given. Threads: Prepare() and Convert() any, also at once; the rest
// on the I/O thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer.h"
#include "api/api_error.h"
#include "api/prompt.h"
#include "api/request.h"
#include "server/engine_port.h"
#include "server/reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/server_metrics.h"

namespace weir {

// A completion request that is ready for the engine, a request for each choice, and the answer that
// waits for their events.
struct PreparedAnswer {
  std::vector<GenerationRequest> requests;
  Answer answer;
  std::string id;
  std::string cache_salt;
  bool stream = false;
};

class Service {
 public:
  Service(const ServerOptions& options, const ServerParts& parts, ServerMetrics& metrics);

  // kCompletions or kChatCompletions. `key_name`: of the caller's key; empty if there are none.
  [[nodiscard]] ApiResult<PreparedAnswer> Prepare(Route route, std::string_view body,
                                                  std::string_view key_name);
  // kTokenize or kDetokenize.
  [[nodiscard]] Reply Convert(Route route, std::string_view body) const;
  // Paths of GET.
  [[nodiscard]] Reply Get(const Target& target);

 private:
  [[nodiscard]] ApiResult<PreparedAnswer> PrepareCompletion(std::string_view body);
  [[nodiscard]] ApiResult<PreparedAnswer> PrepareChat(std::string_view body);
  // `prompts` are those of `spec`. The requests are in the order of the answer's choices.
  [[nodiscard]] PreparedAnswer Assemble(AnswerKind kind, const AnswerOptions& options,
                                        std::vector<std::vector<TokenId>> prompts, AnswerSpec spec);
  // Why the queue could never take all answers at once, if it could not.
  [[nodiscard]] std::optional<ApiError> CheckQueue(size_t prompts, uint32_t choices) const;
  [[nodiscard]] uint64_t UnguessableNumber();
  [[nodiscard]] Json ModelJson() const;

  const ServerParts parts_;
  ServerMetrics& metrics_;
  const ServedModel model_;
  const std::string today_;
  const int64_t created_;  // seconds since 1970
  const PromptWriter prompts_;
  const uint64_t secret_;
  std::atomic<uint64_t> numbers_given_{0};
};

}  // namespace weir
