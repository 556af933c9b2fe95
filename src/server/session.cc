#include "server/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "obs/log.h"
#include "server/liveness.h"
#include "server/on_worker.h"

namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace weir {
namespace {

constexpr uint32_t kHeadBytesMax = 64 << 10;
constexpr size_t kSmallBodyBytes = 64 << 10;  // not counted in the body budget
constexpr size_t kSendBufferBytes = 128 << 10;
constexpr std::chrono::seconds kLinger{2};  // for a client that still sends what was refused

bool IsParseError(const boost::system::error_code& error) {
  return error.category() == make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

bool IsJson(std::string_view content_type) {
  const std::string_view kind = content_type.substr(0, content_type.find(';'));
  std::string lower;
  for (const char c : kind) {
    if (c != ' ' && c != '\t') lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return lower.empty() || lower == "application/json" || lower.ends_with("+json");
}

}  // namespace

Session::Session(asio::ip::tcp::socket socket, SessionContext& context)
    : socket_(std::move(socket)),
      context_(context),
      deadline_(socket_.get_executor()),
      pulse_(socket_.get_executor()),
      body_lease_(context.body_bytes) {
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  // Small, so that a client that does not read is noticed.
  socket_.set_option(asio::socket_base::send_buffer_size(kSendBufferBytes), ignored);
  ProbeWhenSilent(socket_.native_handle(), context_.options.probe_silence);
}

void Session::CloseIfIdle() {
  if (idle_) Close();
}

void Session::Close() {
  if (pending_ != nullptr) OnClientGone();
  boost::system::error_code ignored;
  socket_.close(ignored);
  deadline_.cancel();
  pulse_.cancel();
}

void Session::Arm(std::chrono::milliseconds timeout) {
  deadline_.expires_after(timeout);
  deadline_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const std::shared_ptr<Session> self = weak.lock();
    // A handler that was already on its way when the deadline moved is late, not right.
    if (error || !self || self->deadline_.expiry() > asio::steady_timer::clock_type::now()) return;
    self->timed_out_ = true;
    boost::system::error_code ignored;
    self->socket_.cancel(ignored);
  });
}

asio::awaitable<void> Session::Run() {
  try {
    co_await RunRequests();
  } catch (const std::exception& error) {
    LogError(fmt::format("connection dropped: {}", error.what()));
  }
  Close();
}

asio::awaitable<void> Session::RunRequests() {
  while (keep_alive_ && socket_.is_open()) {
    parser_.emplace();
    parser_->header_limit(kHeadBytesMax);
    body_bytes_max_ = context_.options.body_bytes_max;
    parser_->body_limit(body_bytes_max_);
    if (!co_await ReadRequest()) co_return;
    keep_alive_ = parser_->get().keep_alive();
    co_await AnswerRequest();
    body_lease_.Release();
    idle_ = true;
    if (context_.stopping) co_return;
  }
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

Reply Session::ParseErrorReply(const boost::system::error_code& error) const {
  static_assert(kHeadBytesMax < kBufferBytesMax);
  if (error == http::error::header_limit) {
    return ErrorReply(431, fmt::format("the request head has more than {} bytes", kHeadBytesMax));
  }
  if (error == http::error::buffer_overflow) {
    return ErrorReply(431, fmt::format("the head of a chunk, or the trailer after the last one, "
                                       "has {} bytes or more",
                                       kBufferBytesMax));
  }
  if (error == http::error::body_limit) {
    return ErrorReply(413, fmt::format("the body has more than {} bytes", body_bytes_max_));
  }
  if (error == http::error::bad_version) return ErrorReply(505, "only HTTP/1.0 and HTTP/1.1");
  return ErrorReply(400, fmt::format("this is no HTTP request: {}", error.message()));
}

asio::awaitable<bool> Session::ReadRequest() {
  boost::system::error_code error;
  Arm(context_.options.head_timeout);
  co_await http::async_read_header(socket_, buffer_, *parser_,
                                   asio::redirect_error(asio::use_awaitable, error));
  idle_ = false;
  if (error) {
    if (IsParseError(error)) {
      co_await RefuseUnread(ParseErrorReply(error));
    } else if (timed_out_ && parser_->got_some()) {
      co_await RefuseUnread(ErrorReply(408, "the request head did not come in time"));
    }
    co_return false;
  }
  if (!parser_->is_done()) {
    if (std::optional<Reply> reply = CheckBody(FindTarget(parser_->get().target()))) {
      co_await RefuseUnread(*std::move(reply));
      co_return false;
    }
  }
  if (parser_->get()[http::field::expect] == "100-continue") {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(socket_, asio::buffer(kContinue),
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return false;
  }
  co_return co_await ReadBody();
}

asio::awaitable<bool> Session::ReadBody() {
  boost::system::error_code error;
  const auto latest = std::chrono::steady_clock::now() + context_.options.body_total_timeout;
  while (!parser_->is_done()) {
    const size_t bytes = parser_->get().body().size();
    if (bytes > kSmallBodyBytes && !body_lease_.GrowTo(bytes)) {
      co_await RefuseUnread(ErrorReply(503, "too many large requests at once; try again"));
      co_return false;
    }
    Arm(std::min(context_.options.body_timeout, std::chrono::ceil<std::chrono::milliseconds>(
                                                    latest - std::chrono::steady_clock::now())));
    co_await http::async_read_some(socket_, buffer_, *parser_,
                                   asio::redirect_error(asio::use_awaitable, error));
    if (!error) continue;
    if (IsParseError(error)) {
      co_await RefuseUnread(ParseErrorReply(error));
    } else if (timed_out_) {
      co_await RefuseUnread(ErrorReply(408, "the body did not come in time"));
    } else if (error == http::error::partial_message) {  // it may have closed one direction only
      co_await RefuseUnread(
          ErrorReply(400, fmt::format("the body was cut short: it ended after {} bytes",
                                      parser_->get().body().size())));
    }
    co_return false;
  }
  deadline_.cancel();
  co_return true;
}

// The client may still be sending: an answer alone would be lost in the reset that unread bytes
// cause. So what it sends is read and dropped for a while.
asio::awaitable<void> Session::RefuseUnread(Reply reply) {
  keep_alive_ = false;
  timed_out_ = false;
  LogInfo(fmt::format("connection refused with {}", reply.status));
  co_await Write(std::move(reply));
  boost::system::error_code error;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, error);
  Arm(kLinger);
  std::string dropped(size_t{64} << 10, '\0');
  while (!error) {
    co_await socket_.async_read_some(asio::buffer(dropped),
                                     asio::redirect_error(asio::use_awaitable, error));
  }
}

std::optional<Reply> Session::CheckRequest(const Target& target) {
  const auto& request = parser_->get();
  const bool asks_methods =
      request.method() == http::verb::options && target.route != Route::kUnknown;
  if (!asks_methods) {
    if (std::optional<Reply> reply = CheckAccess(target)) return reply;
  }
  if (target.route == Route::kUnknown) {
    return ErrorReply(
        404, fmt::format("no such path: {}", std::string_view(request.target()).substr(0, 200)));
  }
  const bool fits = TakesBody(target.route) ? request.method() == http::verb::post
                                            : request.method() == http::verb::get ||
                                                  request.method() == http::verb::head;
  if (asks_methods || !fits) {
    Reply reply =
        asks_methods
            ? Reply{.status = 204, .body = {}, .content_type = {}, .allow = {}}
            : ErrorReply(405, fmt::format("this path takes {}", AllowedMethods(target.route)));
    reply.allow = AllowedMethods(target.route);
    return reply;
  }
  // A browser asks before it sends JSON elsewhere: so no page can make a visitor's server work. It
  // names the page's origin, and then says that its body is JSON, even if there is none.
  const std::string_view content_type = request[http::field::content_type];
  const bool unsaid = content_type.empty() && !request[http::field::origin].empty();
  if (TakesBody(target.route) && (unsaid || !IsJson(content_type))) {
    return ErrorReply(415, "the Content-Type must be application/json");
  }
  return std::nullopt;
}

// Every request but OPTIONS passes here before it is answered. Sets key_.
std::optional<Reply> Session::CheckAccess(const Target& target) {
  const ApiKeys& keys = context_.options.keys;
  key_ = std::nullopt;
  if (keys.count() == 0 || target.route == Route::kHealth) return std::nullopt;
  const auto header = parser_->get()[http::field::authorization];
  const std::string_view key = BearerKey({header.data(), header.size()});
  if (key.empty()) {
    return ErrorReply(WrongKey("this server wants an API key: \"Authorization: Bearer KEY\""));
  }
  key_ = keys.Find(key);
  if (!key_) return ErrorReply(WrongKey("this API key is none of this server's"));
  if (IsForAdmin(target.route) && !keys.rights(*key_).is_admin) {
    ApiError error;
    error.status = 403;
    error.message = "this path shows what belongs to several keys: it needs an admin's";
    error.type = "permission_error";
    return ErrorReply(error);
  }
  return std::nullopt;
}

// Before a body is read: who may not ask is not listened to, and nobody for long where no body is
// taken.
std::optional<Reply> Session::CheckBody(const Target& target) {
  if (std::optional<Reply> reply = CheckAccess(target)) return reply;
  if (TakesBody(target.route)) return std::nullopt;
  body_bytes_max_ = std::min(body_bytes_max_, kSmallBodyBytes);
  parser_->body_limit(body_bytes_max_);  // of chunks; what was announced has met the limit before
  if (parser_->content_length().value_or(0) <= body_bytes_max_) return std::nullopt;
  return ParseErrorReply(http::error::body_limit);
}

asio::awaitable<void> Session::AnswerRequest() {
  const Target target = FindTarget(parser_->get().target());
  if (std::optional<Reply> reply = CheckRequest(target)) {
    co_await Write(*std::move(reply));
  } else if (target.route == Route::kCache || target.route == Route::kCacheFlush) {
    co_await Write(co_await AnswerCache(target.route));
  } else if (!TakesBody(target.route)) {
    co_await Write(context_.service.Get(target));
  } else if (target.route == Route::kTokenize || target.route == Route::kDetokenize) {
    const std::string body = std::move(parser_->get().body());
    co_await Write(co_await MaybeOnWorker(context_.workers, body.size(), [&] {
      return context_.service.Convert(target.route, body);
    }));
  } else {
    co_await AnswerCompletion(target.route);
  }
}

asio::awaitable<void> Session::Write(Reply reply) {
  const auto& request = parser_->get();
  http::response<http::string_body> response(static_cast<http::status>(reply.status),
                                             request.version() == 10 ? 10 : 11);
  keep_alive_ = keep_alive_ && !context_.stopping;
  response.set(http::field::server, "weir");
  if (!reply.content_type.empty()) {
    response.set(http::field::content_type,
                 boost::beast::string_view(reply.content_type.data(), reply.content_type.size()));
  }
  if (!reply.allow.empty()) {
    response.set(http::field::allow,
                 boost::beast::string_view(reply.allow.data(), reply.allow.size()));
  }
  if (reply.retry_after) response.set(http::field::retry_after, "1");
  if (reply.ask_for_key) response.set(http::field::www_authenticate, "Bearer");
  response.keep_alive(keep_alive_);
  context_.metrics.OnHttpReply(reply.status);
  if (request.method() == http::verb::head) {
    response.content_length(reply.body.size());
  } else {
    response.body() = std::move(reply.body);
    if (reply.status != 204) response.prepare_payload();
  }
  http::response_serializer<http::string_body> serializer(response);
  boost::system::error_code error;
  if (request.method() == http::verb::head) {
    Arm(context_.options.body_timeout);
    co_await http::async_write_header(socket_, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
  } else {
    while (!error && !serializer.is_done()) {
      Arm(context_.options.body_timeout);  // anew for each piece that the client takes
      co_await http::async_write_some(socket_, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
    }
  }
  if (error) keep_alive_ = false;
}

}  // namespace weir
