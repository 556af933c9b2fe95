#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/write.hpp>
#include <utility>
#include <variant>

#include "obs/log.h"
#include "server/liveness.h"
#include "server/on_worker.h"
#include "server/request_line.h"
#include "server/session.h"

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace weir {
namespace {

constexpr size_t kPipelinedBytesMax = 64 << 10;  // beyond, the socket is not read beside an answer
constexpr size_t kWatchBytes = 4 << 10;
constexpr size_t kScoreBytes = 64;  // of a log-probability as JSON, about
constexpr std::string_view kWaitingComment = ": waiting\n\n";  // SSE: for no one's eyes

size_t ScoreBytes(const SampledToken& token) { return (1 + token.top.size()) * kScoreBytes; }

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

// One completion request while it is answered.
struct Session::Pending {
  TimePoint arrived_at;
  PreparedAnswer prepared;
  std::shared_ptr<EventInbox> inbox;
  std::vector<RequestId> ids;                           // by choice
  std::vector<std::optional<TimePoint>> last_token_at;  // by choice
  uint32_t full_length = 0;                             // see PromptEvent; summed over prompts
  ResumeVeto veto = ResumeVeto::kNone;
  std::optional<TimePoint> first_token_at;
  std::optional<ApiError> failure;  // the engine gave up
  bool head_written = false;        // of a stream
  TimePoint written_at;             // the last of a stream; at first the arrival
  bool comment_due = false;         // the stream has been silent for long
  size_t score_bytes = 0;           // of log-probabilities, about, whether asked for or not

  [[nodiscard]] bool over() const { return prepared.answer.done() || failure; }
};

// While an answer's requests run the session points into the answer's frame. However that ends, an
// exception too, nothing points there afterwards and none of them runs on.
class Session::PendingScope {
 public:
  PendingScope(Session& session, Pending& pending) : session_(session), pending_(pending) {
    session_.pending_ = &pending_;
  }
  PendingScope(const PendingScope&) = delete;
  PendingScope& operator=(const PendingScope&) = delete;
  ~PendingScope() {
    session_.pending_ = nullptr;
    session_.pulse_.cancel();
    session_.CancelAll(pending_);
    pending_.inbox->Close();
  }

 private:
  Session& session_;
  Pending& pending_;
};

// A chat goes to a worker whatever its size: how long a template takes does not show before.
asio::awaitable<ApiResult<PreparedAnswer>> Session::Prepare(Route route, std::string_view body) {
  const std::string_view key_name =
      key_ ? std::string_view(context_.options.keys.rights(*key_).name) : std::string_view();
  const auto work = [&] { return context_.service.Prepare(route, body, key_name); };
  if (route == Route::kChatCompletions) co_return co_await OnWorker(context_.workers, work);
  co_return co_await MaybeOnWorker(context_.workers, body.size(), work);
}

// Why the caller's key may not have `more` answers now, if it may not.
std::optional<ApiError> Session::CheckKeyLimit(uint32_t more) const {
  if (!key_ || more <= context_.key_use.Free(*key_)) return std::nullopt;
  const uint32_t limit = context_.options.keys.rights(*key_).answers_max;
  if (more > limit) {
    return InvalidField("n", fmt::format("the request asks for {} answers at once, and this key "
                                         "may have {}",
                                         more, limit));
  }
  return KeyLimitReached(fmt::format("this key may have {} answers at once, and {} are running",
                                     limit, limit - context_.key_use.Free(*key_)));
}

asio::awaitable<void> Session::RefuseCompletion(const ApiError& error, TimePoint arrived_at) {
  context_.metrics.OnRequestEnd(IsOverload(error) ? Outcome::kRefused : Outcome::kInvalid,
                                Seconds(std::chrono::steady_clock::now() - arrived_at));
  co_await Write(ErrorReply(error));
}

asio::awaitable<ApiResult<PreparedAnswer>> Session::PrepareWithinLimits(Route route) {
  if (auto error = CheckKeyLimit(1)) {  // before it costs anything
    co_return tl::make_unexpected(*std::move(error));
  }
  std::string body = std::move(parser_->get().body());
  ApiResult<PreparedAnswer> prepared = co_await Prepare(route, body);
  std::string().swap(body);  // the answer may take long, and the lease is for these bytes
  body_lease_.Release();
  if (prepared) {
    if (auto error = CheckKeyLimit(prepared->answer.choice_count())) {
      co_return tl::make_unexpected(*std::move(error));
    }
  }
  co_return std::move(prepared);
}

asio::awaitable<void> Session::AnswerCompletion(Route route) {
  const TimePoint arrived_at = std::chrono::steady_clock::now();
  ApiResult<PreparedAnswer> prepared = co_await PrepareWithinLimits(route);
  if (!prepared) {
    co_await RefuseCompletion(prepared.error(), arrived_at);
    co_return;
  }
  std::optional<KeyLease> key_lease;  // its limit was looked at last, without a wait in between
  if (key_) key_lease.emplace(context_.key_use, *key_, prepared->answer.choice_count());

  Pending pending{.arrived_at = arrived_at,
                  .prepared = *std::move(prepared),
                  .inbox = std::make_shared<EventInbox>(socket_.get_executor(),
                                                        context_.options.unread_bytes_max,
                                                        [this] {
                                                          slow_ = true;
                                                          Close();
                                                        }),
                  .ids = {},
                  .last_token_at = {},
                  .first_token_at = {},
                  .failure = {},
                  .written_at = arrived_at};
  const std::optional<ApiError> refusal = co_await RunAll(pending);
  if (refusal) {
    co_await RefuseCompletion(*refusal, arrived_at);
    co_return;
  }
  co_await StopWatch();
  Conclude(pending);
  co_await WriteAnswer(pending);
}

// The requests of all choices until the answer is over or the client has gone. An error: none was
// taken.
asio::awaitable<std::optional<ApiError>> Session::RunAll(Pending& pending) {
  const PendingScope scope(*this, pending);
  if (auto error = SubmitAll(pending)) co_return error;
  gone_ = false;
  slow_ = false;
  deadline_.cancel();
  StartWatch();
  StartPulse();
  co_await Pump(pending);
  co_return std::nullopt;
}

// What the stream has not written already.
asio::awaitable<void> Session::WriteAnswer(Pending& pending) {
  if (gone_) {
    keep_alive_ = false;
  } else if (pending.failure && !pending.head_written) {
    co_await Write(ErrorReply(*pending.failure));
  } else if (!pending.prepared.stream) {
    Reply reply;
    reply.body = co_await MaybeOnWorker(context_.workers, pending.score_bytes,
                                        [&] { return pending.prepared.answer.TakeBody(); });
    co_await Write(std::move(reply));
  }
}

// A request for every choice, or why not; then the caller cancels those that were taken.
std::optional<ApiError> Session::SubmitAll(Pending& pending) {
  for (GenerationRequest& request : pending.prepared.requests) {
    const auto choice = static_cast<uint32_t>(pending.ids.size());
    const Result<RequestId> id =
        context_.engine.Submit(std::move(request), pending.inbox->Sink(choice));
    if (!id) return FromError(id.error());
    pending.ids.push_back(*id);
  }
  pending.last_token_at.resize(pending.ids.size());
  pending.prepared.requests.clear();
  return std::nullopt;
}

// Those that have ended already do not mind.
void Session::CancelAll(const Pending& pending) {
  for (const RequestId id : pending.ids) context_.engine.Cancel(id);
}

// Events to bytes until the answer is over or the client has gone.
asio::awaitable<void> Session::Pump(Pending& pending) {
  Answer& answer = pending.prepared.answer;
  while (!gone_) {
    while (!pending.over()) {
      std::optional<InboxEvent> event = pending.inbox->TryPop();
      if (!event) break;
      co_await Take(pending, *std::move(event));
    }
    if (pending.prepared.stream) {
      std::string frames = answer.TakeFrames();
      if (frames.empty() && pending.comment_due && !pending.over()) frames = kWaitingComment;
      pending.comment_due = false;
      if (pending.failure && pending.head_written) frames += SseFrame(ErrorBody(*pending.failure));
      if (!frames.empty() && !pending.head_written && !pending.failure) {
        pending.head_written = true;
        co_await WriteStreamHead();
      }
      if (!frames.empty() && pending.head_written) {
        co_await WriteFrames(std::move(frames));
        pending.written_at = std::chrono::steady_clock::now();
      }
      if (pending.over() && pending.head_written) co_await WriteStreamEnd();
    }
    if (pending.over()) co_return;
    if (!gone_) co_await pending.inbox->Wait();
  }
}

asio::awaitable<void> Session::Take(Pending& pending, InboxEvent event) {
  Answer& answer = pending.prepared.answer;
  if (answer.done(event.choice)) co_return;  // sent before the engine saw the cancel
  if (const auto* prompt = std::get_if<PromptEvent>(&event.event)) {
    co_await TakePrompt(pending, event.choice, *prompt);
  } else if (const auto* token = std::get_if<TokenEvent>(&event.event)) {
    TakeToken(pending, event.choice, *token);
  } else if (const auto* finish = std::get_if<FinishEvent>(&event.event)) {
    if (finish->reason == FinishReason::kCancelled) {
      pending.failure = FromError({ErrorCode::kUnavailable, "the server is shutting down"});
    } else {
      answer.OnFinish(event.choice, finish->reason);
    }
  } else {
    pending.failure = FromError(std::get<Error>(event.event));
  }
}

asio::awaitable<void> Session::TakePrompt(Pending& pending, uint32_t choice,
                                          const PromptEvent& event) {
  Answer& answer = pending.prepared.answer;
  size_t score_bytes = 0;
  for (const SampledToken& token : event.logprobs) score_bytes += ScoreBytes(token);
  pending.score_bytes += score_bytes;
  const bool counts = co_await MaybeOnWorker(context_.workers, score_bytes, [&] {
    answer.OnPrompt(choice, event);
    return answer.CountsPrompt(choice);
  });
  if (!counts) co_return;
  context_.metrics.OnPromptRead(event.sources);
  pending.full_length += event.full_length;
  if (event.veto != ResumeVeto::kNone) pending.veto = event.veto;
}

void Session::TakeToken(Pending& pending, uint32_t choice, const TokenEvent& event) {
  Answer& answer = pending.prepared.answer;
  std::optional<TimePoint>& last_token_at = pending.last_token_at[choice];
  context_.metrics.OnToken();
  if (last_token_at) {
    context_.metrics.OnNextToken(Seconds(event.at - *last_token_at));
  } else if (!pending.first_token_at) {
    pending.first_token_at = event.at;
    context_.metrics.OnFirstToken(Seconds(event.at - pending.arrived_at));
  }
  last_token_at = event.at;
  pending.score_bytes += ScoreBytes(event.sampled);
  answer.OnToken(choice, event.sampled);
  if (answer.done(choice)) context_.engine.Cancel(pending.ids[choice]);
}

asio::awaitable<void> Session::WriteStreamHead() {
  const bool chunked = parser_->get().version() > 10;
  keep_alive_ = keep_alive_ && chunked && !context_.stopping;
  http::response<http::empty_body> head(http::status::ok, chunked ? 11 : 10);
  head.set(http::field::server, "weir");
  head.set(http::field::content_type, "text/event-stream; charset=utf-8");
  head.set(http::field::cache_control, "no-cache");
  head.chunked(chunked);
  head.keep_alive(keep_alive_);
  context_.metrics.OnHttpReply(200);
  http::response_serializer<http::empty_body> serializer(head);
  boost::system::error_code error;
  Arm(context_.options.body_timeout);
  co_await http::async_write_header(socket_, serializer,
                                    asio::redirect_error(asio::use_awaitable, error));
  if (error) OnClientGone();
}

// Asio asks `next_bytes` before each piece of 64 KiB at most: the deadline is each one's own.
template <class Buffers>
asio::awaitable<void> Session::WriteToStream(Buffers buffers) {
  const auto next_bytes = [this](const boost::system::error_code& error, size_t written) {
    if (!error) Arm(context_.options.body_timeout);
    return asio::transfer_all()(error, written);
  };
  boost::system::error_code error;
  co_await asio::async_write(socket_, buffers, next_bytes,
                             asio::redirect_error(asio::use_awaitable, error));
  deadline_.cancel();
  slow_ = slow_ || timed_out_;
  if (error) OnClientGone();
}

asio::awaitable<void> Session::WriteFrames(std::string frames) {
  if (parser_->get().version() > 10) {
    co_await WriteToStream(http::make_chunk(asio::buffer(frames)));
  } else {
    co_await WriteToStream(asio::buffer(frames));
  }
}

asio::awaitable<void> Session::WriteStreamEnd() {
  if (gone_ || parser_->get().version() == 10) co_return;
  co_await WriteToStream(http::make_chunk_last());
}

void Session::StartWatch() {
  static_assert(kPipelinedBytesMax + kWatchBytes <= kBufferBytesMax);
  if (buffer_.size() >= kPipelinedBytesMax) return;
  watching_ = true;
  watch_ends_ = false;
  socket_.async_read_some(
      buffer_.prepare(kWatchBytes),
      [self = shared_from_this()](const boost::system::error_code& error, size_t bytes) {
        self->watching_ = false;
        if (!error) {
          self->buffer_.commit(bytes);
          if (!self->watch_ends_) self->StartWatch();
        } else if (!self->watch_ends_) {
          self->OnClientGone();
        }
      });
}

asio::awaitable<void> Session::StopWatch() {
  watch_ends_ = true;
  boost::system::error_code ignored;
  if (watching_) socket_.cancel(ignored);
  while (watching_) {  // its handler is on the way
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
}

void Session::StartPulse() {
  pulse_.expires_after(context_.options.liveness_interval);
  pulse_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const std::shared_ptr<Session> self = weak.lock();
    if (error || !self || self->pending_ == nullptr) return;
    self->OnPulse();
    self->StartPulse();
  });
}

void Session::OnPulse() {
  if (gone_) return;
  if (HasLeft(socket_.native_handle())) {
    OnClientGone();
    return;
  }
  const auto silence = std::chrono::steady_clock::now() - pending_->written_at;
  if (pending_->prepared.stream && silence >= context_.options.comment_interval) {
    pending_->comment_due = true;
    pending_->inbox->Wake();
  }
}

void Session::OnClientGone() {
  gone_ = true;
  keep_alive_ = false;
  if (pending_ == nullptr) return;
  CancelAll(*pending_);
  pending_->inbox->Wake();
}

void Session::Conclude(const Pending& pending) {
  const Answer& answer = pending.prepared.answer;
  Outcome outcome = Outcome::kCancelled;
  if (answer.done()) {
    outcome = answer.finish_reason() == FinishReason::kLength ? Outcome::kLength : Outcome::kStop;
  } else if (pending.failure) {
    outcome = IsOverload(*pending.failure) ? Outcome::kRefused : Outcome::kFailed;
  }
  const TimePoint now = std::chrono::steady_clock::now();
  context_.metrics.OnRequestEnd(outcome, Seconds(now - pending.arrived_at));
  RequestRecord record;
  if (outcome == Outcome::kCancelled) {
    record.gone = slow_ ? Gone::kSlow : pending.first_token_at ? Gone::kAnswering : Gone::kWaiting;
    context_.metrics.OnClientGone(*record.gone);
  }
  if (key_) record.key_name = context_.options.keys.rights(*key_).name;
  record.choices = answer.choice_count();
  record.id = pending.prepared.id;
  record.outcome = outcome;
  record.usage = answer.usage();
  record.full_length = pending.full_length;
  record.veto = pending.veto;
  if (pending.first_token_at) {
    record.first_token_seconds = Seconds(*pending.first_token_at - pending.arrived_at);
  }
  record.total_seconds = Seconds(now - pending.arrived_at);
  LogInfo(RequestLine(record));
}

}  // namespace weir
