// Bytes of a body through everything that reads requests: JSON, fields, messages, token lists.
#include <string_view>

#include "api/json_body.h"
#include "api/request.h"
#include "base/check.h"
#include "text/utf8_stream.h"

namespace weir {
namespace {

constexpr uint64_t kSeed = 1;
const ServedModel kModel{.id = "m", .vocab_size = 1000, .context_tokens = 64};

// Whatever was wrong: an error the client can parse, with a status of its own fault.
void CheckError(const ApiError& error) {
  WEIR_CHECK(error.status == 400);
  WEIR_CHECK(!error.message.empty());
  const std::string body = ErrorBody(error);
  WEIR_CHECK(IsValidUtf8(body) && Json::accept(body));
}

void CheckOptions(const AnswerOptions& options) {
  const SamplingParams& sampling = options.sampling;
  WEIR_CHECK(sampling.temperature >= 0 && sampling.temperature <= 100);
  WEIR_CHECK(sampling.top_p > 0 && sampling.top_p <= 1);
  WEIR_CHECK(sampling.min_p >= 0 && sampling.min_p < 1);
  WEIR_CHECK(sampling.repeat_penalty > 0);
  WEIR_CHECK(CheckSamplingParams(sampling).has_value());
  for (size_t i = 0; i < sampling.logit_bias.size(); ++i) {
    const TokenId token = sampling.logit_bias[i].token;
    WEIR_CHECK(token.value() >= 0 && token.value() < 1000);
    WEIR_CHECK(i == 0 || sampling.logit_bias[i - 1].token < token);
  }
  WEIR_CHECK(options.choices >= 1 && options.choices <= 16);
  WEIR_CHECK(options.min_tokens <= options.max_tokens);
  WEIR_CHECK(!options.top_logprobs || *options.top_logprobs <= 20);
  for (const std::string& stop : options.stops) WEIR_CHECK(!stop.empty() && IsValidUtf8(stop));
}

void ReadCompletion(std::string_view body) {
  const auto request = ParseCompletionRequest(body, kModel, kSeed);
  if (!request) return CheckError(request.error());
  CheckOptions(request->options);
  WEIR_CHECK(!request->prompts.empty());
  WEIR_CHECK(request->prompts.size() * request->options.choices <= kAnswersMax);
  for (const PromptInput& prompt : request->prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt)) {
      WEIR_CHECK(IsValidUtf8(*text));
      continue;
    }
    for (const TokenId token : std::get<std::vector<TokenId>>(prompt)) {
      WEIR_CHECK(token.value() >= 0 && token.value() < 1000);
    }
  }
}

void ReadChat(std::string_view body) {
  const auto request = ParseChatRequest(body, kModel, kSeed);
  if (!request) return CheckError(request.error());
  CheckOptions(request->options);
  WEIR_CHECK(!request->messages.empty() && request->messages.size() <= kModel.context_tokens);
  for (const Json& message : request->messages) {
    WEIR_CHECK(message.at("role").is_string() && message.at("content").is_string());
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t byte_count) {
  const std::string_view body(reinterpret_cast<const char*>(data), byte_count);
  weir::ReadCompletion(body);
  weir::ReadChat(body);
  return 0;
}
