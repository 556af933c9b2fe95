#include "server/server.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "obs/log.h"
#include "server/session.h"

namespace asio = boost::asio;
using asio::ip::tcp;

namespace weir {
namespace {

constexpr uint32_t kWorkers = 2;
constexpr std::chrono::milliseconds kAcceptPause{100};  // when the process is out of descriptors
constexpr std::chrono::seconds kLastWrites{2};          // for answers that are on their way at Stop

Result<tcp::endpoint> ParseEndpoint(const std::string& address, uint16_t port) {
  boost::system::error_code error;
  const auto parsed = asio::ip::make_address(address == "localhost" ? "127.0.0.1" : address, error);
  if (error) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no IP address to listen on", address));
  }
  return tcp::endpoint(parsed, port);
}

Result<void> Listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint) {
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot listen on {}:{}: {}", endpoint.address().to_string(),
                          endpoint.port(), error.message()));
}

// Each connection is a descriptor; the usual soft limit is 1024.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) LogDebug("cannot raise the limit of open files");
}

}  // namespace

struct Server::State {
  State(const ServerOptions& server_options, const ServerParts& server_parts)
      : options(server_options),
        parts(server_parts),
        metrics(options.version, options.model_id),
        service(options, parts, metrics),
        body_bytes(options.body_bytes_total),
        key_use(options.keys),
        context{options, service, parts.engine, metrics, workers, body_bytes, key_use} {}

  asio::awaitable<void> Accept();
  void Serve(tcp::socket socket);
  void WaitForSessions(std::chrono::milliseconds timeout);

  const ServerOptions options;
  const ServerParts parts;
  ServerMetrics metrics;
  Service service;
  ByteBudget body_bytes;
  KeyUse key_use;
  asio::thread_pool workers{kWorkers};
  SessionContext context;
  asio::io_context io{1};  // one thread: connections need no locks
  tcp::acceptor acceptor{io};
  uint16_t port = 0;
  std::thread io_thread;
  bool stopped = false;  // Stop() has run

  std::unordered_set<Session*> sessions;  // I/O thread
  std::mutex mutex;                       // guards session_count
  std::condition_variable session_ended;
  size_t session_count = 0;
};

asio::awaitable<void> Server::State::Accept() {
  asio::steady_timer pause(io);
  while (acceptor.is_open()) {
    boost::system::error_code error;
    tcp::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (!error) {
      Serve(std::move(socket));
    } else if (acceptor.is_open() && error != asio::error::connection_aborted) {
      pause.expires_after(kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
}

void Server::State::Serve(tcp::socket socket) {
  if (sessions.size() >= options.connections_max) {
    static constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
        "Connection: close\r\n\r\n";
    boost::system::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(kFull), ignored);
    return;
  }
  auto session = std::make_shared<Session>(std::move(socket), context);
  sessions.insert(session.get());
  {
    std::lock_guard lock(mutex);
    session_count = sessions.size();
  }
  metrics.SetConnections(sessions.size());
  asio::co_spawn(io, session->Run(), [this, session](const std::exception_ptr&) {
    sessions.erase(session.get());
    metrics.SetConnections(sessions.size());
    std::lock_guard lock(mutex);
    session_count = sessions.size();
    session_ended.notify_all();
  });
}

void Server::State::WaitForSessions(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex);
  session_ended.wait_for(lock, timeout, [&] { return session_count == 0; });
}

Result<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                              const ServerParts& parts) {
  const tcp::endpoint endpoint = WEIR_TRY(ParseEndpoint(options.address, options.port));
  auto state = std::make_unique<State>(options, parts);
  WEIR_TRY(Listen(state->acceptor, endpoint));
  boost::system::error_code ignored;
  state->port = state->acceptor.local_endpoint(ignored).port();
  RaiseDescriptorLimit();
  asio::co_spawn(state->io, state->Accept(), asio::detached);
  state->io_thread = std::thread([raw = state.get()] {
    const auto guard = asio::make_work_guard(raw->io);
    raw->io.run();
  });
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() { Stop(std::chrono::milliseconds(0)); }

uint16_t Server::port() const { return state_->port; }

void Server::Stop(std::chrono::milliseconds grace) {
  if (std::exchange(state_->stopped, true)) return;
  State& state = *state_;
  asio::post(state.io, [&state] {
    state.context.stopping = true;
    boost::system::error_code ignored;
    state.acceptor.close(ignored);
    for (Session* session : state.sessions) session->CloseIfIdle();
  });
  state.parts.engine.Shutdown(grace);
  state.WaitForSessions(kLastWrites);
  asio::post(state.io, [&state] {
    for (Session* session : state.sessions) session->Close();
  });
  state.WaitForSessions(kLastWrites);
  state.workers.join();
  state.io.stop();
  state.io_thread.join();
}

}  // namespace weir
