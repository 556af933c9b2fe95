// One HTTP POST on a connection of its own, its answer read as it comes: the only file that knows
// Boost's client side.
//
// Threads: the coroutine runs on the executor that awaits it. Does not throw.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "load/server_url.h"

namespace weir {

// The addresses of a server, asked for once. Waits for a name server. kNotFound.
using ServerAddresses = boost::asio::ip::tcp::resolver::results_type;
[[nodiscard]] Result<ServerAddresses> Resolve(const ServerUrl& url);

struct HttpPost {
  const ServerAddresses& addresses;
  std::string host;           // header
  std::string target;         // path
  std::string authorization;  // header; "": none
  std::string body;           // JSON
  std::chrono::milliseconds timeout;
};

struct HttpEnd {
  int status = 0;     // 0: no answer came
  std::string error;  // "": the answer is whole; else "timeout", "connect: ...", "read: ..."
};

// Calls on_bytes(status, bytes) for each piece of the answer's body on its arrival; false from it
// ends the exchange early, with the error "given up".
using OnBytes = std::function<bool(int status, std::string_view bytes)>;
boost::asio::awaitable<HttpEnd> Post(HttpPost post, OnBytes on_bytes);

}  // namespace weir
