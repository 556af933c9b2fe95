// What each path answers, without sockets: everything but the waiting.
//
// Ownership: borrows what it is given. Threads: Prepare() and Convert() any, also at once; the rest
// on the I/O thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

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

// A completion request that is ready for the engine, and the answer that waits for its events.
struct PreparedAnswer {
  GenerationRequest request;
  Answer answer;
  std::string id;
  bool stream = false;
};

class Service {
 public:
  Service(const ServerOptions& options, const ServerParts& parts, ServerMetrics& metrics);

  // kCompletions or kChatCompletions.
  [[nodiscard]] ApiResult<PreparedAnswer> Prepare(Route route, std::string_view body);
  // kTokenize or kDetokenize.
  [[nodiscard]] Reply Convert(Route route, std::string_view body) const;
  // Paths of GET.
  [[nodiscard]] Reply Get(const Target& target);

 private:
  [[nodiscard]] ApiResult<PreparedAnswer> PrepareCompletion(std::string_view body);
  [[nodiscard]] ApiResult<PreparedAnswer> PrepareChat(std::string_view body);
  [[nodiscard]] PreparedAnswer Assemble(AnswerKind kind, const AnswerOptions& options,
                                        std::vector<TokenId> prompt, AnswerSpec spec);
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
