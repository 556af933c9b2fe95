#include "load/load_runner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

namespace weir {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

struct Asked {
  std::string head;
  std::string body;
};
// The bytes of an answer, in pieces.
using Pieces = std::vector<std::string>;
using Reply = std::function<Pieces(const Asked&)>;
const std::string kWait = "wait until the client goes";

// Answers each connection's one request on a thread of its own.
class ScriptedServer {
 public:
  explicit ScriptedServer(Reply reply) : reply_(std::move(reply)), thread_([this] { Accept(); }) {}
  ~ScriptedServer() {
    ending_ = true;
    tcp::socket last(io_);
    boost::system::error_code ignored;
    last.connect(endpoint_, ignored);
    thread_.join();
    for (std::thread& thread : answering_) thread.join();
  }

  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", port()); }
  [[nodiscard]] uint16_t port() const { return endpoint_.port(); }
  [[nodiscard]] int most_at_once() const { return most_at_once_; }
  [[nodiscard]] std::vector<Asked> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  void Accept() {
    while (true) {
      auto socket = std::make_shared<tcp::socket>(io_);
      acceptor_.accept(*socket);
      if (ending_) return;
      answering_.emplace_back([this, socket] { Serve(*socket); });
    }
  }

  void Serve(tcp::socket& socket) {
    boost::system::error_code error;
    std::string bytes;
    asio::read_until(socket, asio::dynamic_buffer(bytes), "\r\n\r\n", error);
    const size_t head_end = bytes.find("\r\n\r\n") + 4;
    const size_t length_at = bytes.find("Content-Length: ");
    const size_t length = std::stoul(bytes.substr(length_at + 16));
    const size_t missing = head_end + length - bytes.size();
    asio::read(socket, asio::dynamic_buffer(bytes), asio::transfer_exactly(missing), error);
    const Asked asked{.head = bytes.substr(0, head_end), .body = bytes.substr(head_end)};
    const int at_once = ++at_once_;
    {
      const std::lock_guard lock(mutex_);
      most_at_once_ = std::max<int>(most_at_once_, at_once);
      asked_.push_back(asked);
    }
    const Pieces pieces = reply_(asked);
    --at_once_;
    for (const std::string& piece : pieces) {
      char byte = 0;
      if (piece == kWait) {
        socket.read_some(asio::buffer(&byte, 1), error);
      } else {
        asio::write(socket, asio::buffer(piece), error);
      }
    }
    socket.shutdown(tcp::socket::shutdown_both, error);
  }

  Reply reply_;
  asio::io_context io_;
  tcp::acceptor acceptor_{io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  const tcp::endpoint endpoint_ = acceptor_.local_endpoint();
  std::atomic<bool> ending_ = false;
  std::atomic<int> at_once_ = 0;
  std::atomic<int> most_at_once_ = 0;
  std::mutex mutex_;
  std::vector<Asked> asked_;
  std::vector<std::thread> answering_;
  std::thread thread_;
};

std::string Chunk(std::string_view bytes) {
  return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}

const std::string kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kText = "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\n\n";
const std::string kUsage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":2,"
    "\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\n";
const std::string kEnd = "data: [DONE]\n\n";

// An event split over two chunks, and two events in one.
Pieces GoodAnswer() {
  return {kStreamHead,
          Chunk(": waiting\n\n"),
          Chunk(kText.substr(0, 9)),
          Chunk(kText.substr(9)),
          Chunk(kText + kUsage),
          Chunk(kEnd),
          "0\r\n\r\n"};
}

CompletionClient Client(const std::string& url, LoadTarget target = {}) {
  target.url = *ParseServerUrl(url);
  return *CompletionClient::Create(target);
}

LoadPlan Requests(uint32_t count, uint32_t clients) {
  LoadPlan plan;
  plan.classes = {"all"};
  plan.clients = clients;
  for (uint32_t i = 0; i < count; ++i) {
    plan.scripts.push_back(
        {.turns = {{.message = {{.seed = i, .end_tokens = 10}}, .answer_tokens = 2}}});
  }
  return plan;
}

LoadResult RunAll(const LoadPlan& plan, const CompletionClient& client) {
  return RunLoad(plan, client, {}, [](const LoadProgress&) {});
}

// The one request's record when the server answers with `pieces`.
RequestRecord RecordOf(const Pieces& pieces) {
  ScriptedServer server([&](const Asked&) { return pieces; });
  const LoadResult result = RunAll(Requests(1, 1), Client(server.url()));
  EXPECT_THAT(result.records, SizeIs(1));
  return result.records.at(0);
}

TEST(LoadRunner, TimesEachTextAndTakesTheServersCounts) {
  const RequestRecord record = RecordOf(GoodAnswer());
  EXPECT_EQ(record.error, "") << record.message;
  EXPECT_EQ(record.status, 200);
  EXPECT_EQ(record.prompt_tokens, 20U);
  EXPECT_EQ(record.cached_tokens, 5U);
  EXPECT_EQ(record.answer_tokens, 2U);
  ASSERT_THAT(record.text_at_s, SizeIs(2));
  EXPECT_GT(record.text_at_s[0], 0);
  EXPECT_GE(record.text_at_s[1], record.text_at_s[0]);
  EXPECT_GE(record.total_s, record.text_at_s[1]);
}

// A server that waits after its first event: had its bytes not come, this would be a timeout.
TEST(Post, HandsOnEachChunkWhenItComes) {
  ScriptedServer server([](const Asked&) { return Pieces{kStreamHead, Chunk(kText), kWait}; });
  const ServerUrl url = *ParseServerUrl(server.url());
  const ServerAddresses addresses = *Resolve(url);
  std::string came;
  HttpEnd end;
  asio::io_context io;
  asio::co_spawn(
      io,
      [&]() -> asio::awaitable<void> {
        HttpPost post{.addresses = addresses,
                      .host = url.HostHeader(),
                      .target = "/",
                      .authorization = "",
                      .body = "{}",
                      .timeout = std::chrono::seconds(20)};
        end = co_await Post(std::move(post), [&](int, std::string_view bytes) {
          came += bytes;
          return came.size() < kText.size();
        });
      },
      asio::detached);
  io.run();
  EXPECT_EQ(end.error, "given up");
  EXPECT_EQ(end.status, 200);
  EXPECT_EQ(came, kText);
}

TEST(LoadRunner, WhatGoesWrongHasAKind) {
  EXPECT_THAT(RecordOf({"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 35\r\n\r\n",
                        R"({"error":{"message":"queue is full"}})"}),
              AllOf(Field(&RequestRecord::error, "HTTP 503"), Field(&RequestRecord::status, 503)));
  EXPECT_THAT(RecordOf({kStreamHead, Chunk(kText)}),
              Field(&RequestRecord::error, "read: the server closed the connection"));
  EXPECT_THAT(RecordOf({kStreamHead, Chunk(kText), "0\r\n\r\n"}),
              Field(&RequestRecord::error, "broken stream"));
  EXPECT_THAT(RecordOf({kStreamHead, Chunk("data: {\"error\":{\"message\":\"no room\"}}\n\n")}),
              AllOf(Field(&RequestRecord::error, "error in the stream"),
                    Field(&RequestRecord::message, "no room")));
  EXPECT_THAT(RecordOf({kStreamHead, Chunk("data: x\n\n" + kText)}),
              Field(&RequestRecord::error, "broken stream"));
  EXPECT_THAT(RecordOf({"no HTTP\r\n\r\n"}), Field(&RequestRecord::error, StartsWith("read: ")));
  EXPECT_THAT(RecordOf({}), Field(&RequestRecord::error, StartsWith("read: ")));
}

TEST(LoadRunner, AServerThatIsNotThereRefusesEveryRequest) {
  std::string url;
  {
    const ScriptedServer gone([](const Asked&) { return Pieces{kWait}; });
    url = gone.url();
  }
  const LoadResult result = RunAll(Requests(3, 2), Client(url));
  EXPECT_THAT(result.records, SizeIs(3));
  EXPECT_THAT(result.records, Each(Field(&RequestRecord::error, StartsWith("connect: "))));
}

TEST(LoadRunner, GivesUpAnAnswerThatDoesNotCome) {
  ScriptedServer server([](const Asked&) { return Pieces{kWait}; });
  LoadTarget target;
  target.timeout = std::chrono::milliseconds(20);
  const LoadResult result = RunAll(Requests(2, 2), Client(server.url(), target));
  EXPECT_THAT(result.records, Each(Field(&RequestRecord::error, "timeout")));
}

// Three must meet before any is answered: fewer clients would stay alone, more are counted.
TEST(LoadRunner, AClosedLoopHasAllItsClientsUnderWayAndNoMore) {
  std::barrier<> three(3);
  ScriptedServer server([&](const Asked&) {
    three.arrive_and_wait();
    return GoodAnswer();
  });
  const LoadResult result = RunAll(Requests(39, 3), Client(server.url()));
  EXPECT_THAT(result.records, SizeIs(39));
  EXPECT_THAT(result.records, Each(Field(&RequestRecord::error, "")));
  EXPECT_EQ(server.most_at_once(), 3);
  EXPECT_GT(result.seconds, 0);
}

// Each request waits until all have come, which no closed loop of fewer clients survives.
TEST(LoadRunner, AnOpenLoopDoesNotWaitForAnswers) {
  constexpr int kCount = 50;
  std::atomic<int> come = 0;
  ScriptedServer server([&](const Asked&) {
    ++come;
    come.notify_all();
    for (int seen = come; seen < kCount; seen = come) come.wait(seen);
    return GoodAnswer();
  });
  const LoadResult result = RunAll(Requests(kCount, 0), Client(server.url()));
  EXPECT_THAT(result.records, SizeIs(kCount));
  EXPECT_THAT(result.records, Each(Field(&RequestRecord::error, "")));
}

TEST(LoadRunner, AConversationSendsItsHistory) {
  ScriptedServer server([](const Asked&) { return GoodAnswer(); });
  LoadPlan plan = PlanConversations(
      {.conversations = 1, .turns = 3, .first_tokens = 5, .prompt_tokens = 4, .answer_tokens = 2});
  const LoadResult result = RunAll(plan, Client(server.url()));
  ASSERT_THAT(result.records, SizeIs(3));
  EXPECT_EQ(result.records[0].class_index, 0U);
  EXPECT_EQ(result.records[2].class_index, 1U);
  EXPECT_EQ(result.records[2].turn, 2U);
  const auto last = nlohmann::json::parse(server.asked()[2].body);
  const auto first = nlohmann::json::parse(server.asked()[0].body);
  ASSERT_EQ(last["messages"].size(), 5U);
  EXPECT_EQ(last["messages"][0], first["messages"][0]);
  EXPECT_EQ(last["messages"][1], nlohmann::json({{"role", "assistant"}, {"content", "yesyes"}}));
  EXPECT_EQ(last["messages"][4]["role"], "user");
}

TEST(LoadRunner, AFailedTurnEndsItsConversationAndNoOther) {
  std::atomic<int> count = 0;
  ScriptedServer server([&](const Asked&) {
    return ++count == 1 ? Pieces{"HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n"} : GoodAnswer();
  });
  LoadPlan plan = PlanConversations({.conversations = 2, .turns = 3});
  const LoadResult result = RunAll(plan, Client(server.url()));
  EXPECT_THAT(result.records, SizeIs(4));
  EXPECT_EQ(result.planned, 4U);
}

TEST(LoadRunner, SendsWhatTheTargetSays) {
  ScriptedServer server([](const Asked&) { return GoodAnswer(); });
  LoadTarget target;
  target.api_key = "k1";
  target.model = "m";
  target.endpoint = Endpoint::kCompletions;
  target.temperature = 0.5;
  RunAll(Requests(1, 1), Client(server.url() + "/llm/", target));
  ASSERT_THAT(server.asked(), SizeIs(1));
  const Asked asked = server.asked()[0];
  EXPECT_THAT(asked.head, StartsWith("POST /llm/v1/completions HTTP/1.1\r\n"));
  EXPECT_THAT(asked.head, HasSubstr("Authorization: Bearer k1\r\n"));
  EXPECT_THAT(asked.head, HasSubstr(fmt::format("Host: 127.0.0.1:{}\r\n", server.port())));
  const auto body = nlohmann::json::parse(asked.body);
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["max_tokens"], 2);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["ignore_eos"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
  EXPECT_TRUE(body["prompt"].is_string());
}

// A server that counts a token a word and 12 more.
TEST(Calibration, IsMeasuredWithTwoPrompts) {
  ScriptedServer server([](const Asked& asked) {
    const auto body = nlohmann::json::parse(asked.body);
    const std::string text = body["messages"][0]["content"];
    const auto words = 1 + std::count(text.begin(), text.end(), ' ');
    return Pieces{
        kStreamHead,
        Chunk(fmt::format("data: {{\"usage\":{{\"prompt_tokens\":{}}}}}\n\n", words + 12)),
        Chunk(kEnd), "0\r\n\r\n"};
  });
  const auto calibration = MeasureCalibration(Client(server.url()), 1);
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_DOUBLE_EQ(calibration->words_per_token, 1);
  EXPECT_DOUBLE_EQ(calibration->overhead_tokens, 12);
}

TEST(Calibration, SaysWhatTheServerSaid) {
  ScriptedServer server([](const Asked&) {
    return Pieces{"HTTP/1.1 401 x\r\nContent-Length: 31\r\n\r\n",
                  R"({"error":{"message":"no key"}})"
                  "\n"};
  });
  const auto calibration = MeasureCalibration(Client(server.url()), 1);
  ASSERT_FALSE(calibration);
  EXPECT_THAT(calibration.error().message, HasSubstr("HTTP 401: no key"));
}

}  // namespace
}  // namespace weir
