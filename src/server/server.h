// The HTTP face: OpenAI's API, health and metrics over asynchronous connections.
//
//   auto server = Server::Start(options, parts);      // listens, or one Error ("port in use")
//   ... wait for SIGTERM ...
//   (*server)->Stop(std::chrono::seconds(10));        // finishes what runs, then closes
//
// Ownership: borrows `parts`, which must outlive it. Threads: starts one I/O thread that owns every
// connection and two workers for what takes long: chats, large bodies, many log-probabilities;
// Start and Stop are called by one thread, port() by any.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/version.h"
#include "server/api_keys.h"

namespace weir {

class ChatTemplate;
class EnginePort;
class Tokenizer;

struct ServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 8080;  // 0: any free one, see port()
  std::string model_id;  // as /v1/models names it
  std::string today;     // "29 Nov 2026" for chat templates; empty: the clock's
  std::string version{Version()};
  ApiKeys keys;  // none: open to all
  uint32_t connections_max = 2000;
  size_t body_bytes_max = size_t{16} << 20;       // one request's body; above: 413
  size_t body_bytes_total = size_t{256} << 20;    // large bodies of all connections; above: 503
  size_t unread_bytes_max = size_t{1} << 20;      // answer that a client has not read; above: gone
  std::chrono::milliseconds head_timeout{60000};  // idle keep-alive, and until a head is whole
  std::chrono::milliseconds body_timeout{30000};  // without a byte of a body, or of an answer read
  std::chrono::milliseconds body_total_timeout{300000};  // a whole body
  std::chrono::milliseconds engine_timeout{5000};        // between two steps of the engine
  std::chrono::milliseconds liveness_interval{1000};     // is the client of an answer still there?
  std::chrono::milliseconds comment_interval{15000};     // a silent stream says that it lives
  std::chrono::seconds probe_silence{60};  // a machine that vanished is given up; see liveness.h
};

struct ServerParts {
  EnginePort& engine;  // LocalEngine(engine): server/engine_port.h
  const Tokenizer& tokenizer;
  const ChatTemplate& chat_template;
};

class Server {
 public:
  // kInvalidArgument: not an address. kIo: cannot listen there.
  static Result<std::unique_ptr<Server>> Start(const ServerOptions& options,
                                               const ServerParts& parts);
  ~Server();  // Stop(0 ms)

  // Takes no more requests, shuts the engine down (`grace` for what runs), hands out the last
  // answers, closes all connections. Returns when that is done; once.
  void Stop(std::chrono::milliseconds grace);

  [[nodiscard]] uint16_t port() const;

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
