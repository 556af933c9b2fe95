#include "load/completion_client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "load/sse_reader.h"
#include "load/stream_event.h"

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

constexpr int kOk = 200;
constexpr size_t kErrorBytesMax = 64 << 10;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Json Messages(const Dialogue& dialogue) {
  Json messages = Json::array();
  for (const std::string& text : dialogue) {
    messages.push_back(
        {{"role", messages.size() % 2 == 0 ? "user" : "assistant"}, {"content", text}});
  }
  return messages;
}

// Puts the answer together as its bytes arrive.
class AnswerReader {
 public:
  explicit AnswerReader(Clock::time_point began) : began_(began) {}

  bool OnBytes(int status, std::string_view bytes) {
    if (status != kOk) {
      if (error_body_.size() < kErrorBytesMax) error_body_ += bytes;
      return true;
    }
    const double at_s = SecondsSince(began_);
    const auto fed = sse_.Feed(bytes, [&](std::string_view data) { Take(data, at_s); });
    if (!fed) Break("broken stream", fed.error().message);
    return answer_.record.error.empty();
  }

  TimedAnswer Finish(const HttpEnd& end) && {
    RequestRecord& record = answer_.record;
    record.total_s = SecondsSince(began_);
    record.status = end.status;
    if (record.answer_tokens == 0) {
      record.answer_tokens = static_cast<uint32_t>(record.text_at_s.size());
    }
    if (!record.error.empty()) return std::move(answer_);  // "given up" is its consequence
    if (end.status != kOk && end.status != 0) {
      Break(fmt::format("HTTP {}", end.status), ErrorMessage(error_body_));
    } else if (!end.error.empty()) {
      Break(end.error, "");
    } else if (!has_end_) {
      Break("broken stream", "it ended without [DONE]");
    }
    return std::move(answer_);
  }

 private:
  void Take(std::string_view data, double at_s) {
    if (!answer_.record.error.empty()) return;
    const auto event = ParseStreamEvent(data);
    if (!event) return Break("broken stream", event.error().message);
    if (event->error) return Break("error in the stream", *event->error);
    has_end_ = has_end_ || event->is_end;
    if (!event->text.empty()) answer_.record.text_at_s.push_back(at_s);
    answer_.text += event->text;
    if (event->usage) {
      answer_.record.prompt_tokens = event->usage->prompt_tokens;
      answer_.record.cached_tokens = event->usage->cached_tokens;
      answer_.record.answer_tokens = event->usage->answer_tokens;
    }
  }

  void Break(std::string kind, std::string message) {
    answer_.record.error = std::move(kind);
    answer_.record.message = std::move(message);
  }

  Clock::time_point began_;
  SseReader sse_;
  TimedAnswer answer_;
  std::string error_body_;
  bool has_end_ = false;
};

}  // namespace

std::string CompletionBody(const LoadTarget& target, const Dialogue& dialogue,
                           uint32_t answer_tokens) {
  Json body = Json::object();
  if (!target.model.empty()) body["model"] = target.model;
  if (target.endpoint == Endpoint::kChat) {
    body["messages"] = Messages(dialogue);
  } else {
    body["prompt"] = fmt::format("{}", fmt::join(dialogue, "\n"));
  }
  body["max_tokens"] = answer_tokens;
  body["temperature"] = target.temperature;
  body["ignore_eos"] = true;
  body["stream"] = true;
  body["stream_options"] = {{"include_usage", true}};
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<CompletionClient> CompletionClient::Create(LoadTarget target) {
  auto addresses = WEIR_TRY(Resolve(target.url));
  return CompletionClient(std::move(target), std::move(addresses));
}

CompletionClient::CompletionClient(LoadTarget target, ServerAddresses addresses)
    : target_(std::move(target)), addresses_(std::move(addresses)) {}

boost::asio::awaitable<TimedAnswer> CompletionClient::Ask(const Dialogue& dialogue,
                                                          uint32_t answer_tokens) const {
  const bool is_chat = target_.endpoint == Endpoint::kChat;
  HttpPost post{.addresses = addresses_,
                .host = target_.url.HostHeader(),
                .target = target_.url.path + (is_chat ? "/v1/chat/completions" : "/v1/completions"),
                .authorization = target_.api_key.empty() ? "" : "Bearer " + target_.api_key,
                .body = CompletionBody(target_, dialogue, answer_tokens),
                .timeout = target_.timeout};
  AnswerReader reader(Clock::now());
  const HttpEnd end = co_await Post(std::move(post), [&reader](int status, std::string_view bytes) {
    return reader.OnBytes(status, bytes);
  });
  co_return std::move(reader).Finish(end);
}

}  // namespace weir
