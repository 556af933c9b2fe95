// Clients that are slow, gone or broken: noticed, bounded, and nothing is lost for others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <thread>

#include "support/server_fixture.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using test::Client;
using test::kCompletions;
using test::kPlain;
using test::kStream;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class HostileTest : public test::ServerTest {
 protected:
  void SetUp() override {}  // tests set options and start
  std::string Metrics() {
    Client client = Connect();
    client.Get("/metrics");
    return client.Response();
  }
  // What counts is counted when the connection has noticed, a little after the engine was told.
  void ExpectMetric(const std::string& line) {
    std::string text;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {
      text = Metrics();
    } while (text.find("\n" + line + "\n") == std::string::npos &&
             std::chrono::steady_clock::now() < deadline);
    EXPECT_THAT(text, HasSubstr("\n" + line + "\n"));
  }
};

// 3.6 MB: more than the system's buffers hold for a client that does not read.
void AskForALargeAnswer(Client& client) {
  client.Post("/tokenize", R"({"content":")" + std::string(900'000, 'a') + R"("})");
}

// What a client gets that takes three times `server_timeout` for the greater part of it.
std::string ReadSlowly(Client& client, std::string_view end, milliseconds server_timeout) {
  std::string out = client.Read(1);  // the server's time begins
  const auto hurry_at = std::chrono::steady_clock::now() + 3 * server_timeout;
  while (!out.ends_with(end)) {
    const std::string piece = client.Read(64 << 10);
    if (piece.empty()) break;
    out += piece;
    if (std::chrono::steady_clock::now() < hurry_at) std::this_thread::sleep_for(milliseconds(10));
  }
  return out;
}

TEST_F(HostileTest, WhoReadsSlowlyButSteadilyGetsAllOfIt) {
  options_.body_timeout = milliseconds(150);
  options_.unread_bytes_max = 64 << 20;
  Start();
  const struct {
    std::function<void(Client&)> ask;
    std::string_view end;
  } all[] = {
      {AskForALargeAnswer, R"("max_model_len":100})"},
      {[&](Client& client) {
         client.Post(kCompletions, kStream);
         engine_.Answer(engine_.WaitForRequest(), std::string(20'000, 'x'));  // 3.5 MB of frames
       },
       "data: [DONE]\n\n\r\n0\r\n\r\n"},
  };
  for (const auto& each : all) {
    // On a busy machine a pause may be longer than was meant. Once is proof.
    std::string answer;
    for (int attempt = 0; attempt < 10 && !answer.ends_with(each.end); ++attempt) {
      Client client = Connect();
      client.LimitUnread(256 << 10);
      each.ask(client);
      answer = ReadSlowly(client, each.end, options_.body_timeout);
    }
    EXPECT_TRUE(answer.ends_with(each.end)) << answer.size() << " bytes before " << each.end;
  }
}

TEST_F(HostileTest, WhoDoesNotReadALargeAnswerIsGivenUp) {
  options_.body_timeout = milliseconds(150);
  Start();
  Client deaf = Connect();
  deaf.LimitUnread(256 << 10);
  AskForALargeAnswer(deaf);
  deaf.Read(1);  // it has begun
  ExpectMetric("weir_http_connections 1");
  EXPECT_LT(deaf.ReadAll().size(), 3'000'000U);
}

TEST_F(HostileTest, ASilentStreamSaysThatItLivesUntilItsFirstToken) {
  options_.liveness_interval = milliseconds(5);
  options_.comment_interval = milliseconds(20);
  Start();
  Client client = Connect();
  client.Post(kCompletions, kStream);
  const uint64_t request = engine_.WaitForRequest();
  const std::string begin = client.ReadTo(": waiting\n\n");
  EXPECT_THAT(begin, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("text/event-stream")));
  EXPECT_THAT(client.ReadTo(": waiting\n\n"), EndsWith(": waiting\n\n"));  // and again
  engine_.Answer(request, "a");
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"),
              AllOf(HasSubstr(R"("text":"a")"), HasSubstr("data: [DONE]\n\n")));
  client.Get("/health");  // the connection goes on
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HostileTest, APlainAnswerHasNoComments) {
  options_.liveness_interval = milliseconds(1);
  options_.comment_interval = milliseconds(1);
  Start();
  Client silent = Connect();
  silent.Post(kCompletions, kPlain);
  const uint64_t request = engine_.WaitForRequest();
  Client stream = Connect();
  stream.Post(kCompletions, kStream);
  const uint64_t other = engine_.WaitForRequest();
  for (int i = 0; i < 3; ++i) stream.ReadTo(": waiting\n\n");  // time enough
  EXPECT_FALSE(silent.HasBytes());
  engine_.Answer(request, "a");
  EXPECT_THAT(silent.Response(), Not(HasSubstr("waiting")));
  engine_.Answer(other, "a");
  stream.ReadTo("0\r\n\r\n");
}

TEST_F(HostileTest, AnErrorAfterACommentIsAFrame) {
  options_.liveness_interval = milliseconds(5);
  options_.comment_interval = milliseconds(5);
  Start();
  Client client = Connect();
  client.Post(kCompletions, kStream);
  const uint64_t request = engine_.WaitForRequest();
  client.ReadTo(": waiting\n\n");
  engine_.Emit(request, Error{ErrorCode::kResourceExhausted, "no tile"});
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"),
              AllOf(HasSubstr(R"(data: {"error":)"), Not(HasSubstr("[DONE]"))));
}

TEST_F(HostileTest, WhoLeavesBehindUnreadBytesIsNoticedByTheTimer) {
  options_.liveness_interval = milliseconds(5);
  Start();
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  const uint64_t request = engine_.WaitForRequest();
  // More of the next request than the server reads ahead, so that the end is not read.
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" +
              std::string(150000, ' '));
  client.CloseSending();
  EXPECT_TRUE(engine_.WaitForCancel(request));
}

TEST_F(HostileTest, WhoVanishesBetweenPrefillAndFirstTokenIsCancelled) {
  Start();
  for (const bool reset : {false, true}) {
    Client client = Connect();
    client.Post("/v1/chat/completions",
                R"({"messages":[{"role":"user","content":"hi"}],"stream":true})");
    const uint64_t request = engine_.WaitForRequest();
    engine_.EmitPrompt(request);
    client.ReadTo(R"("role":"assistant")");
    if (reset) {
      client.Reset();
    } else {
      client.Close();
    }
    EXPECT_TRUE(engine_.WaitForCancel(request));
  }
  ExpectMetric(R"(weir_gone_clients_total{when="waiting"} 2)");
  ExpectMetric(R"(weir_requests_total{outcome="cancelled"} 2)");
}

TEST_F(HostileTest, TheMetricsTellWhoLeftWhen) {
  Start();
  Client answering = Connect();
  answering.Post(kCompletions, kStream);
  uint64_t request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  engine_.EmitText(request, "a");
  answering.ReadTo(R"("text":"a")");
  answering.Close();
  EXPECT_TRUE(engine_.WaitForCancel(request));
  Client deaf = Connect();
  deaf.Post(kCompletions, kStream);
  request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  engine_.EmitText(request, std::string(16000, 'x'));
  EXPECT_TRUE(engine_.WaitForCancel(request));
  ExpectMetric(R"(weir_gone_clients_total{when="answering"} 1)");
  ExpectMetric(R"(weir_gone_clients_total{when="slow"} 1)");
}

TEST_F(HostileTest, AByteAtATimeIsABodyOnlyForSoLong) {
  options_.body_total_timeout = milliseconds(50);
  Start();
  Client client = Connect();
  client.Send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{");
  // However fast they come, these are not all of it.
  for (int i = 0; i < 900000 && !client.HasBytes(); ++i) client.Send(" ");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 408"));
}

TEST_F(HostileTest, AHeadThatStopsComingIsGivenUp) {
  options_.head_timeout = milliseconds(50);
  Start();
  // On a busy machine the time may be over before the first byte has come: then there is nothing to
  // answer. Once is proof.
  std::string answer;
  for (int attempt = 0; attempt < 20 && answer.empty(); ++attempt) {
    Client client = Connect();
    client.Send("POST /v1/completions HTTP/1.1\r\nHo");
    answer = client.Response();
  }
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 408"));
  Client silent = Connect();
  EXPECT_EQ(silent.ReadAll(), "") << "an idle connection just ends";
}

TEST_F(HostileTest, AChunkedBodyIsBoundedAndReadAnyway) {
  Start();
  Client good = Connect();
  good.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"prompt\r\n7\r\n\":\"hi\"}\r\n0\r\n\r\n");
  engine_.Answer(engine_.WaitForRequest(), "yes");
  EXPECT_THAT(good.Response(), HasSubstr(R"("text":"yes")"));
  Client endless = Connect();
  endless.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "10000\r\n" + std::string(65536, ' ') + "\r\n";
  for (int i = 0; i < 17 && !endless.HasBytes(); ++i) endless.Send(chunk);  // the bound is 1 MiB
  EXPECT_THAT(endless.Response(), StartsWith("HTTP/1.1 413"));
}

TEST_F(HostileTest, AChunksHeadOrATrailerWithoutEndIsRefused) {
  Start();
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  Client good = Connect();
  good.Send(head + "f;name=value\r\n{\"prompt\":\"hi\"}\r\n0;last\r\nX: y\r\n\r\n");
  engine_.Answer(engine_.WaitForRequest(), "yes");
  EXPECT_THAT(good.Response(), HasSubstr(R"("text":"yes")"));
  for (const char* begin : {"1;", "1\r\n{\r\n0;", "0\r\nX: "}) {
    Client endless = Connect();
    endless.Send(head + begin);
    const std::string more(64 << 10, 'a');
    for (int i = 0; i < 16 && !endless.HasBytes(); ++i) endless.Send(more);  // the bound is 128 KiB
    EXPECT_THAT(endless.Response(), AllOf(StartsWith("HTTP/1.1 431"), HasSubstr("131072 bytes")))
        << begin;
  }
}

TEST_F(HostileTest, ManyRequestsMayComeEarly) {
  Start();
  constexpr int kPosts = 40;
  constexpr int kGets = 4100;
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  const uint64_t first = engine_.WaitForRequest();
  // Twice what is read beside an answer; each of the first is an answer to read beside.
  for (int i = 0; i < kPosts; ++i) client.Post(kCompletions, kPlain);
  std::string gets;
  for (int i = 0; i < kGets; ++i) gets += "GET /health HTTP/1.1\r\nHost: x\r\n\r\n";
  client.Send(gets);
  engine_.Answer(first, "yes");
  for (int i = 0; i < kPosts; ++i) engine_.Answer(engine_.WaitForRequest(), "yes");
  for (int i = 0; i < 1 + kPosts; ++i) {
    ASSERT_THAT(client.Response(), HasSubstr(R"("text":"yes")")) << i;
  }
  for (int i = 0; i < kGets; ++i) {
    ASSERT_THAT(client.Response(), HasSubstr(R"({"status":"ok"})")) << i;
  }
}

TEST_F(HostileTest, LargeBodiesShareABudget) {
  options_.body_bytes_total = 300 << 10;
  Start();
  const std::string head =
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\n\r\n";
  Client first = Connect();
  first.Send(head + std::string(200 << 10, ' '));
  Client second = Connect();
  second.Send(head + std::string(900 << 10, ' '));
  EXPECT_THAT(second.Response(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  first.Close();
  Client third = Connect();
  third.Post(kCompletions, kPlain);
  engine_.Answer(engine_.WaitForRequest(), "yes");
  EXPECT_THAT(third.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HostileTest, MoreConnectionsThanTheBoundAreTurnedAway) {
  options_.connections_max = 3;
  Start();
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(server_->port());
    clients.back().Get("/health");
    EXPECT_THAT(clients.back().Response(), StartsWith("HTTP/1.1 200"));
  }
  Client fourth = Connect();
  EXPECT_THAT(fourth.ReadAll(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
}

TEST_F(HostileTest, AStopEndsWhoSendsSlowlyToo) {
  Start();
  Client slow = Connect();
  slow.Send("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
  Client other = Connect();
  other.Get("/health");
  other.Response();
  server_->Stop(milliseconds(0));
  EXPECT_EQ(slow.ReadAll(), "");
}

}  // namespace
}  // namespace weir
