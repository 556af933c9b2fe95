// Sends one streaming completion request to an OpenAI-compatible server and times what comes back.
//
// Threads: coroutines on one thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "load/http_post.h"
#include "load/request_record.h"
#include "load/server_url.h"

namespace weir {

enum class Endpoint : uint8_t { kChat, kCompletions };

struct LoadTarget {
  ServerUrl url;
  std::string api_key;  // "": none
  std::string model;    // "": the server's own
  Endpoint endpoint = Endpoint::kChat;
  double temperature = 0;
  std::chrono::milliseconds timeout{600'000};  // of a request
};

// Questions and answers in turns, the last one a question.
using Dialogue = std::vector<std::string>;

// The request's JSON. With kCompletions the dialogue is one text, a line a message.
[[nodiscard]] std::string CompletionBody(const LoadTarget& target, const Dialogue& dialogue,
                                         uint32_t answer_tokens);

struct TimedAnswer {
  RequestRecord record;  // without class, script, turn and at_s
  std::string text;
};

class CompletionClient {
 public:
  // kNotFound: no such host.
  static Result<CompletionClient> Create(LoadTarget target);

  // Client and dialogue must live until it returns. Never fails: an error is in the record.
  [[nodiscard]] boost::asio::awaitable<TimedAnswer> Ask(const Dialogue& dialogue,
                                                        uint32_t answer_tokens) const;

 private:
  CompletionClient(LoadTarget target, ServerAddresses addresses);

  LoadTarget target_;
  ServerAddresses addresses_;
};

}  // namespace weir
