// Bodies of /v1/completions and /v1/chat/completions as typed requests.
//
// Everything is checked here, before a token is made: types, ranges, what Weir cannot do yet.
// Parameters that would change the answer and are not built are a 400 that names them; all others
// that it does not know are ignored. Field by field: docs/api.md.
//
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/api_error.h"
#include "api/json_body.h"
#include "base/ids.h"
#include "engine/engine.h"

namespace weir {

// What a request may refer to.
struct ServedModel {
  std::string id;
  uint32_t vocab_size = 0;
  uint32_t context_tokens = 0;
};

// What both kinds of request share.
struct AnswerOptions {
  SamplingParams sampling;
  bool is_seeded = false;            // the request names its seed
  uint32_t choices = 1;              // answers to each prompt
  uint64_t max_tokens = UINT64_MAX;  // the engine cuts it to what the context leaves
  uint32_t min_tokens = 0;
  bool ignore_eos = false;
  std::optional<uint32_t> top_logprobs;  // set: log-probabilities, with so many alternatives
  std::vector<std::string> stops;        // none is empty
  bool stream = false;
  bool include_usage = false;  // of a stream, in a chunk of its own
  std::string cache_salt;      // empty: none
};

using PromptInput = std::variant<std::string, std::vector<TokenId>>;

struct CompletionRequest {
  AnswerOptions options;
  std::vector<PromptInput> prompts;  // at least one
  bool echo = false;                 // the answer begins with the prompt
  bool parse_special = false;        // texts of control tokens in the prompt become these tokens
};

struct ChatRequest {
  AnswerOptions options;
  Json messages;        // checked: see chat_messages.h
  Json template_extra;  // null or an object of further template variables
};

// Prompts times choices of one request.
inline constexpr size_t kAnswersMax = 64;

// `random_seed` is taken if the request has no seed.
[[nodiscard]] ApiResult<CompletionRequest> ParseCompletionRequest(std::string_view body,
                                                                  const ServedModel& model,
                                                                  uint64_t random_seed);
[[nodiscard]] ApiResult<ChatRequest> ParseChatRequest(std::string_view body,
                                                      const ServedModel& model,
                                                      uint64_t random_seed);

}  // namespace weir
