// One connection: requests in, answers out, one after the other.
//
// A coroutine (Run) reads a request, answers it and goes on while the client keeps the connection.
// While an answer is pending the socket is also read: bytes belong to the next request
// (pipelining), an end or error means that the client has gone, and its request is cancelled within
// one step. A client that closes only its sending side counts as gone too. A timer asks the kernel
// the same, and lets a stream that has nothing to say yet show that it lives.
//
// Ownership: alive as long as its coroutine runs; the server keeps plain pointers until then.
// Threads: the I/O thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/byte_budget.h"
#include "server/event_inbox.h"
#include "server/key_use.h"
#include "server/reply.h"
#include "server/routes.h"
#include "server/server.h"
#include "server/server_metrics.h"
#include "server/service.h"

namespace weir {

// What all connections share; outlives them.
struct SessionContext {
  const ServerOptions& options;
  Service& service;
  EnginePort& engine;
  ServerMetrics& metrics;
  boost::asio::thread_pool& workers;
  ByteBudget& body_bytes;
  KeyUse& key_use;
  bool stopping = false;  // close after the answer that is pending
};

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::ip::tcp::socket socket, SessionContext& context);

  // Until the connection ends. Does not throw.
  boost::asio::awaitable<void> Run();

  // Closes it now if no request is being read or answered.
  void CloseIfIdle();
  // Closes it now; a pending request is cancelled.
  void Close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  // Beast reads on until a head, a chunk's head or a trailer is whole: this ends it.
  static constexpr size_t kBufferBytesMax = size_t{128} << 10;

  // session.cc: the connection.
  boost::asio::awaitable<void> RunRequests();
  boost::asio::awaitable<bool> ReadRequest();  // false: the connection is over
  boost::asio::awaitable<bool> ReadBody();
  [[nodiscard]] Reply ParseErrorReply(const boost::system::error_code& error) const;
  boost::asio::awaitable<void> RefuseUnread(Reply reply);
  boost::asio::awaitable<void> AnswerRequest();
  [[nodiscard]] std::optional<Reply> CheckRequest(const Target& target);
  [[nodiscard]] std::optional<Reply> CheckAccess(const Target& target);
  [[nodiscard]] std::optional<Reply> CheckBody(const Target& target);
  boost::asio::awaitable<void> Write(Reply reply);
  void Arm(std::chrono::milliseconds timeout);

  // session_cache.cc: questions that the engine answers between two steps.
  boost::asio::awaitable<Reply> AnswerCache(Route route);
  // What `ask` hands to its callback, on the engine's thread; nothing if that does not come in
  // time.
  template <class T, class Ask>
  boost::asio::awaitable<std::optional<T>> AskEngine(const Ask& ask);

  // session_answer.cc: a completion.
  struct Pending;
  class PendingScope;
  boost::asio::awaitable<void> AnswerCompletion(Route route);
  boost::asio::awaitable<void> RefuseCompletion(const ApiError& error, TimePoint arrived_at);
  [[nodiscard]] std::optional<ApiError> CheckKeyLimit(uint32_t more) const;
  boost::asio::awaitable<ApiResult<PreparedAnswer>> Prepare(Route route, std::string_view body);
  // Frees the body; the result's answers fit under the key's limit.
  boost::asio::awaitable<ApiResult<PreparedAnswer>> PrepareWithinLimits(Route route);
  boost::asio::awaitable<std::optional<ApiError>> RunAll(Pending& pending);
  boost::asio::awaitable<void> WriteAnswer(Pending& pending);
  boost::asio::awaitable<void> Pump(Pending& pending);
  [[nodiscard]] std::optional<ApiError> SubmitAll(Pending& pending);
  void CancelAll(const Pending& pending);
  boost::asio::awaitable<void> Take(Pending& pending, InboxEvent event);
  boost::asio::awaitable<void> TakePrompt(Pending& pending, uint32_t choice,
                                          const PromptEvent& event);
  void TakeToken(Pending& pending, uint32_t choice, const TokenEvent& event);
  boost::asio::awaitable<void> WriteStreamHead();
  boost::asio::awaitable<void> WriteFrames(std::string frames);
  template <class Buffers>
  boost::asio::awaitable<void> WriteToStream(Buffers buffers);
  boost::asio::awaitable<void> WriteStreamEnd();
  void StartWatch();
  boost::asio::awaitable<void> StopWatch();
  void StartPulse();
  void OnPulse();
  void OnClientGone();
  void Conclude(const Pending& pending);

  boost::asio::ip::tcp::socket socket_;
  SessionContext& context_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer pulse_;                    // while an answer is pending
  boost::beast::flat_buffer buffer_{kBufferBytesMax};  // bytes that no request has taken yet
  std::optional<Parser> parser_;
  size_t body_bytes_max_ = 0;  // of the request being read
  ByteLease body_lease_;
  std::optional<size_t> key_;  // of the request being answered
  bool idle_ = true;           // between two requests
  bool keep_alive_ = true;
  bool timed_out_ = false;
  bool watching_ = false;  // a read is pending beside the answer
  bool watch_ends_ = false;
  bool gone_ = false;
  bool slow_ = false;           // gone because it did not read
  Pending* pending_ = nullptr;  // on AnswerCompletion's frame; see PendingScope
};

}  // namespace weir
