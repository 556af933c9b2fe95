#include "load/http_post.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/none.hpp>
#include <limits>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace weir {
namespace {

std::string Describe(std::string_view doing, const boost::system::error_code& error) {
  if (error == beast::error::timeout) return "timeout";
  if (error == http::error::end_of_stream || error == http::error::partial_message) {
    return fmt::format("{}: the server closed the connection", doing);
  }
  return fmt::format("{}: {}", doing, error.message());
}

http::request<http::string_body> MakeRequest(HttpPost& post) {
  http::request<http::string_body> request(http::verb::post, post.target, 11);
  request.set(http::field::host, post.host);
  request.set(http::field::user_agent, "weir bench-serve");
  request.set(http::field::content_type, "application/json");
  request.set(http::field::accept, "text/event-stream");
  if (!post.authorization.empty()) request.set(http::field::authorization, post.authorization);
  request.keep_alive(false);
  request.body() = std::move(post.body);
  request.prepare_payload();
  return request;
}

}  // namespace

Result<ServerAddresses> Resolve(const ServerUrl& url) {
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  boost::system::error_code error;
  auto addresses = resolver.resolve(url.host, url.port, error);
  if (!error && !addresses.empty()) return addresses;
  return Fail(ErrorCode::kNotFound, fmt::format("{}: {}", url.HostHeader(), error.message()));
}

asio::awaitable<HttpEnd> Post(HttpPost post, OnBytes on_bytes) {
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  boost::system::error_code error;
  const auto token = [&error] { return asio::redirect_error(asio::use_awaitable, error); };
  stream.expires_after(post.timeout);  // for all of it
  co_await stream.async_connect(post.addresses, token());
  if (error) co_return HttpEnd{.error = Describe("connect", error)};
  boost::system::error_code ignored;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), ignored);

  const http::request<http::string_body> request = MakeRequest(post);
  co_await http::async_write(stream, request, token());
  // A server that refuses early may close before it has read all: its answer is still to be read.
  const boost::system::error_code write_error = error;
  if (write_error == beast::error::timeout) co_return HttpEnd{.error = "timeout"};

  http::response_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.eager(false);  // else it reads on until all chunks are there
  beast::flat_buffer buffer;
  HttpEnd end;
  while (!parser.is_done()) {
    co_await http::async_read_some(stream, buffer, parser, token());
    if (parser.is_header_done()) end.status = parser.get().result_int();
    std::string bytes = std::exchange(parser.get().body(), {});
    if (!bytes.empty() && !on_bytes(end.status, bytes)) {
      end.error = "given up";
      co_return end;
    }
    if (error) {
      end.error = write_error ? Describe("write", write_error) : Describe("read", error);
      co_return end;
    }
  }
  co_return end;
}

}  // namespace weir
