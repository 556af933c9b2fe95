// A server over an engine that the test plays, and clients that send it bytes.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "obs/log.h"
#include "server/server.h"
#include "support/fake_engine.h"
#include "text/chat_template.h"

namespace weir::test {

// A connection under the test's control. Reads give up after ten seconds.
class Client {
 public:
  explicit Client(uint16_t port) {
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  void Send(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }
  void Post(std::string_view path, const std::string& body, std::string_view version = "1.1") {
    Send(
        fmt::format("POST {} HTTP/{}\r\nHost: x\r\nContent-Type: application/json\r\n"
                    "Content-Length: {}\r\n\r\n{}",
                    path, version, body.size(), body));
  }
  void Get(std::string_view path) { Send(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", path)); }
  // Everything up to and with `end`; less if the connection ends before.
  std::string ReadTo(std::string_view end) {
    boost::system::error_code error;
    std::string out = std::exchange(rest_, {});
    while (out.find(end) == std::string::npos && !error) {
      char bytes[4096];
      const ssize_t count = recv(socket_.native_handle(), bytes, sizeof bytes, 0);
      if (count <= 0) return out;
      out.append(bytes, static_cast<size_t>(count));
    }
    const size_t length = out.find(end) + end.size();
    rest_ = out.substr(length);
    out.resize(length);
    return out;
  }
  // One whole answer with a Content-Length.
  std::string Response() {
    const std::string head = ReadTo("\r\n\r\n");
    const size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    const size_t length = std::stoul(head.substr(at + 16));
    std::string body = std::exchange(rest_, {});
    while (body.size() < length) {
      char bytes[4096];
      const ssize_t count = recv(socket_.native_handle(), bytes, sizeof bytes, 0);
      if (count <= 0) break;
      body.append(bytes, static_cast<size_t>(count));
    }
    if (body.size() > length) rest_ = body.substr(length);
    return head + body.substr(0, length);
  }
  // What has come, at most `most` bytes; waits for some. Empty: no more comes.
  std::string Read(size_t most) {
    std::string out(most, '\0');
    const ssize_t count = recv(socket_.native_handle(), out.data(), out.size(), 0);
    out.resize(count > 0 ? static_cast<size_t>(count) : 0);
    return out;
  }
  // About so much of an answer waits in the system for a client that does not read.
  void LimitUnread(int bytes) {
    socket_.set_option(boost::asio::socket_base::receive_buffer_size(bytes));
  }
  std::string ReadAll() { return ReadTo("no text has this \x01"); }
  bool HasBytes() {  // without waiting
    char byte = 0;
    return recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  void CloseSending() { socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send); }
  void Reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }
  void Close() { socket_.close(); }

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::string rest_;
};

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    SetUpLog(LogLevel::kOff);
    options_.port = 0;
    options_.model_id = "tiny";
    options_.unread_bytes_max = 64 << 10;
    options_.body_bytes_max = 1 << 20;
  }
  void Start() {
    auto server = Server::Start(options_, {engine_, tokenizer_, template_});
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(server).Take();
  }
  void SetUp() override { Start(); }
  void TearDown() override { server_.reset(); }
  Client Connect() { return Client(server_->port()); }

  ServerOptions options_;
  FakeEngine engine_{100};
  Tokenizer tokenizer_ = ByteTokenizer();
  ChatTemplate template_ =
      ChatTemplate::Create("{% for m in messages %}{{ m.content }}{% endfor %}").value();
  std::unique_ptr<Server> server_;
};

inline constexpr const char* kCompletions = "/v1/completions";
inline constexpr const char* kPlain = R"({"prompt":"hi","temperature":0})";
inline constexpr const char* kStream = R"({"prompt":"hi","stream":true})";

}  // namespace weir::test
