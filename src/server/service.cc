#include "server/service.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <random>

#include "api/answer_options.h"
#include "api/tokenize.h"

namespace weir {
namespace {

int64_t SecondsSince1970() { return static_cast<int64_t>(std::time(nullptr)); }

std::string Today() { return fmt::format("{:%d %b %Y}", fmt::localtime(std::time(nullptr))); }

uint64_t Secret() {
  std::random_device device;
  return (uint64_t{device()} << 32U) | device();
}

// splitmix64 (Steele, Lea, Flood 2014): a bijection, so numbers never repeat.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// Room that the prompt must leave: none if no answer is asked for.
uint64_t AnswerRoom(const AnswerOptions& options) { return options.max_tokens > 0 ? 1 : 0; }

// Of what a request may reuse. Names of keys hold no ';', so that no salt makes two of them equal.
std::string NamespaceOf(std::string_view key_name, const std::string& salt) {
  std::string out = key_name.empty() ? std::string() : fmt::format("key:{}", key_name);
  if (!salt.empty()) out += fmt::format("{}salt:{}", out.empty() ? "" : ";", salt);
  return out;
}

// Log-probabilities of prompts are kept until they are written. All prompts of a request may bring
// as many numbers as one that fills the context with the most alternatives.
std::optional<ApiError> CheckScoredTokens(uint64_t tokens, uint32_t alternatives,
                                          uint32_t context_tokens) {
  const uint64_t most = uint64_t{context_tokens} * (kTopLogprobsMax + 1) / (alternatives + 1);
  if (tokens <= most) return std::nullopt;
  return InvalidField("prompt", fmt::format("prompt: with echo and logprobs = {} all prompts may "
                                            "have {} tokens together, and they have more; send "
                                            "them in several requests",
                                            alternatives, most));
}

AnswerSpec SpecOf(const AnswerOptions& options) {
  AnswerSpec spec;
  spec.choice.stream = options.stream;
  spec.choice.logprobs = options.top_logprobs.has_value();
  spec.choice.stops = options.stops;
  spec.include_usage = options.include_usage;
  spec.choices_per_prompt = options.choices;
  return spec;
}

}  // namespace

Service::Service(const ServerOptions& options, const ServerParts& parts, ServerMetrics& metrics)
    : parts_(parts),
      metrics_(metrics),
      model_{.id = options.model_id,
             .vocab_size = parts.tokenizer.vocab_size(),
             .context_tokens = parts.engine.context_tokens()},
      today_(options.today),
      created_(SecondsSince1970()),
      prompts_(parts.tokenizer, parts.chat_template, model_.context_tokens),
      secret_(Secret()) {}

uint64_t Service::UnguessableNumber() { return Mix(secret_ + numbers_given_.fetch_add(1)); }

std::optional<ApiError> Service::CheckQueue(size_t prompts, uint32_t choices) const {
  const uint32_t places = parts_.engine.queue_capacity();
  if (prompts * choices <= places) return std::nullopt;
  return InvalidField(choices > 1 ? "n" : "prompt",
                      fmt::format("the request asks for {} answers at once, and the queue has {} "
                                  "places",
                                  prompts * choices, places));
}

ApiResult<PreparedAnswer> Service::Prepare(Route route, std::string_view body,
                                           std::string_view key_name) {
  PreparedAnswer out =
      WEIR_TRY(route == Route::kChatCompletions ? PrepareChat(body) : PrepareCompletion(body));
  for (GenerationRequest& each : out.requests) {
    each.cache_namespace = NamespaceOf(key_name, out.cache_salt);
  }
  return out;
}

ApiResult<PreparedAnswer> Service::PrepareCompletion(std::string_view body) {
  const CompletionRequest request =
      WEIR_TRY(ParseCompletionRequest(body, model_, UnguessableNumber()));
  if (auto error = CheckQueue(request.prompts.size(), request.options.choices)) {
    return tl::make_unexpected(*std::move(error));
  }
  const SpecialTokens special =
      request.parse_special ? SpecialTokens::kParse : SpecialTokens::kAsText;
  AnswerSpec spec = SpecOf(request.options);
  const bool is_scored = request.echo && request.options.top_logprobs;
  uint64_t scored_tokens = 0;
  std::vector<std::vector<TokenId>> prompts;
  for (const PromptInput& input : request.prompts) {
    std::vector<TokenId> prompt =
        WEIR_TRY(prompts_.FromInput(input, special, AnswerRoom(request.options)));
    scored_tokens += is_scored ? prompt.size() : 0;
    if (auto error = CheckScoredTokens(scored_tokens, request.options.top_logprobs.value_or(0),
                                       model_.context_tokens)) {
      return tl::make_unexpected(*std::move(error));
    }
    AnswerPrompt& part = spec.prompts.emplace_back();
    part.token_count = prompt.size();
    if (request.echo) {
      const auto* text = std::get_if<std::string>(&input);
      part.echo =
          Echo{text != nullptr ? *text : parts_.tokenizer.Decode(prompt, SpecialTokens::kAsText),
               prompt};
    }
    prompts.push_back(std::move(prompt));
  }
  PreparedAnswer out =
      Assemble(AnswerKind::kCompletion, request.options, std::move(prompts), std::move(spec));
  for (GenerationRequest& each : out.requests) {
    each.prompt_logprobs = is_scored;
  }
  return out;
}

ApiResult<PreparedAnswer> Service::PrepareChat(std::string_view body) {
  const ChatRequest request = WEIR_TRY(ParseChatRequest(body, model_, UnguessableNumber()));
  if (auto error = CheckQueue(1, request.options.choices)) {
    return tl::make_unexpected(*std::move(error));
  }
  ChatPrompt prompt = WEIR_TRY(
      prompts_.FromChat(request, today_.empty() ? Today() : today_, AnswerRoom(request.options)));
  AnswerSpec spec = SpecOf(request.options);
  const std::vector<std::string>& stops = parts_.chat_template.stop_strings();
  spec.choice.stops.insert(spec.choice.stops.end(), stops.begin(), stops.end());
  if (parts_.chat_template.strips_leading_space()) spec.choice.leading = LeadingSpace::kStrip;
  spec.prompts.push_back({.token_count = prompt.tokens.size()});
  std::vector<std::vector<TokenId>> prompts;
  prompts.push_back(std::move(prompt.tokens));
  PreparedAnswer out =
      Assemble(AnswerKind::kChat, request.options, std::move(prompts), std::move(spec));
  for (GenerationRequest& each : out.requests) each.message_starts = prompt.message_starts;
  return out;
}

PreparedAnswer Service::Assemble(AnswerKind kind, const AnswerOptions& options,
                                 std::vector<std::vector<TokenId>> prompts, AnswerSpec spec) {
  AnswerHead head;
  head.kind = kind;
  head.id = fmt::format("{}-{:016x}", kind == AnswerKind::kChat ? "chatcmpl" : "cmpl",
                        UnguessableNumber());
  head.created = SecondsSince1970();
  head.model = model_.id;
  const std::string id = head.id;
  const bool stream = spec.choice.stream;
  GenerationRequest request;
  request.sampling = options.sampling;
  request.max_tokens = options.max_tokens;
  request.min_tokens = options.min_tokens;
  request.ignore_eos = options.ignore_eos;
  request.end_tokens = parts_.tokenizer.end_tokens();
  request.top_logprobs = options.top_logprobs;
  std::vector<GenerationRequest> requests;
  for (std::vector<TokenId>& prompt : prompts) {
    // Without a seed equal prompts of a list are as independent as two requests.
    if (!options.is_seeded && !requests.empty()) request.sampling.seed = UnguessableNumber();
    request.prompt = std::move(prompt);
    for (uint32_t choice = 0; choice < options.choices; ++choice) {
      request.sampling.choice = choice;
      requests.push_back(request);
    }
  }
  return {std::move(requests), Answer(std::move(head), std::move(spec), parts_.tokenizer), id,
          options.cache_salt, stream};
}

Reply Service::Convert(Route route, std::string_view body) const {
  ApiResult<Json> json = route == Route::kTokenize ? Tokenize(body, parts_.tokenizer, model_)
                                                   : Detokenize(body, parts_.tokenizer, model_);
  if (!json) return ErrorReply(json.error());
  Reply reply;
  reply.body = DumpJson(*json);
  return reply;
}

Json Service::ModelJson() const {
  return {{"id", model_.id},
          {"object", "model"},
          {"created", created_},
          {"owned_by", "weir"},
          {"max_model_len", model_.context_tokens}};
}

Reply Service::Get(const Target& target) {
  Reply reply;
  switch (target.route) {
    case Route::kModels:
      reply.body = DumpJson({{"object", "list"}, {"data", Json::array({ModelJson()})}});
      return reply;
    case Route::kModel:
      if (target.name != model_.id) {
        return ErrorReply(404, fmt::format("no model \"{}\"; this server has \"{}\"",
                                           target.name.substr(0, 200), model_.id));
      }
      reply.body = DumpJson(ModelJson());
      return reply;
    case Route::kHealth:
      reply.body = R"({"status":"ok"})";
      return reply;
    case Route::kMetrics:
      reply.body = metrics_.Text(parts_.engine.gauges(), parts_.engine.counters());
      reply.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return reply;
    default:
      return ErrorReply(404, "no such path");
  }
}

}  // namespace weir
