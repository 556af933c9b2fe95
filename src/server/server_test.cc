#include "server/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/server_fixture.h"

namespace weir {
namespace {

using test::Client;
using test::kCompletions;
using test::kPlain;
using test::kStream;
using test::ServerTest;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(ServerTest, APlainAnswerIsWhatTheEngineSaid) {
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  engine_.Answer(engine_.WaitForRequest(), "yes");
  const std::string answer = client.Response();
  EXPECT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("application/json"),
                            HasSubstr(R"("text":"yes")"), HasSubstr(R"("completion_tokens":3)")));
}

TEST_F(ServerTest, AStreamComesTokenByTokenAndTheConnectionGoesOn) {
  Client client = Connect();
  client.Post(kCompletions, kStream);
  const uint64_t request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  engine_.EmitText(request, "a");
  EXPECT_THAT(client.ReadTo("\"text\":\"a\""), HasSubstr("text/event-stream"));
  engine_.EmitText(request, "b");
  client.ReadTo("\"text\":\"b\"");
  engine_.EmitFinish(request, FinishReason::kStop);
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"), HasSubstr("data: [DONE]\n\n"));
  client.Get("/health");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, AClientThatGoesCancelsItsRequest) {
  for (const char* body : {kPlain, kStream}) {
    for (int how = 0; how < 3; ++how) {
      Client client = Connect();
      client.Post(kCompletions, body);
      const uint64_t request = engine_.WaitForRequest();
      if (how == 0) client.Close();
      if (how == 1) client.Reset();
      if (how == 2) client.CloseSending();
      EXPECT_TRUE(engine_.WaitForCancel(request)) << body << " how " << how;
    }
  }
}

TEST_F(ServerTest, ABodyCutShortIsA400WhereTheClientStillReads) {
  Client client = Connect();
  client.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{\"prompt\":");
  client.CloseSending();
  EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("after 10 bytes")));
}

TEST_F(ServerTest, AClientThatNeverReadsIsGivenUp) {
  Client client = Connect();
  client.Post(kCompletions, kStream);
  const uint64_t request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  // 2 MB of frames: more than socket buffers and the bound hold.
  engine_.EmitText(request, std::string(16000, 'x'));
  EXPECT_TRUE(engine_.WaitForCancel(request));
}

TEST_F(ServerTest, BytesOfTheNextRequestMayComeEarly) {
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  const uint64_t first = engine_.WaitForRequest();
  client.Post(kCompletions, kPlain);
  client.Get("/health");
  engine_.Answer(first, "one");
  EXPECT_THAT(client.Response(), HasSubstr(R"("text":"one")"));
  engine_.Answer(engine_.WaitForRequest(), "two");
  EXPECT_THAT(client.Response(), HasSubstr(R"("text":"two")"));
  EXPECT_THAT(client.Response(), HasSubstr(R"({"status":"ok"})"));
}

TEST_F(ServerTest, AStopStringCancelsWhatTheEngineStillDoes) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","stop":"lo"})");
  const uint64_t request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  engine_.EmitText(request, "hello");
  EXPECT_THAT(client.Response(),
              AllOf(HasSubstr(R"("text":"hel")"), HasSubstr(R"("finish_reason":"stop")")));
  EXPECT_TRUE(engine_.WaitForCancel(request));
}

TEST_F(ServerTest, AFullQueueIsA503WithRetryAfter) {
  engine_.Refuse({ErrorCode::kResourceExhausted, "64 requests wait already"});
  Client client = Connect();
  client.Post(kCompletions, kStream);
  EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1"),
                                       HasSubstr("64 requests wait already")));
}

TEST_F(ServerTest, AnEngineErrorIsAStatusBeforeTheStreamAndAFrameInIt) {
  Client client = Connect();
  client.Post(kCompletions, kStream);
  engine_.Emit(engine_.WaitForRequest(), Error{ErrorCode::kResourceExhausted, "no tile"});
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 503"));
  client.Post(kCompletions, kStream);
  const uint64_t request = engine_.WaitForRequest();
  engine_.EmitPrompt(request);
  engine_.EmitText(request, "a");
  client.ReadTo(R"("text":"a")");
  engine_.Emit(request, Error{ErrorCode::kResourceExhausted, "no tile"});
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"),
              AllOf(HasSubstr(R"(data: {"error":)"), Not(HasSubstr("[DONE]"))));
}

TEST_F(ServerTest, AnOldClientGetsAStreamWithoutChunks) {
  Client client = Connect();
  client.Post(kCompletions, kStream, "1.0");
  engine_.Answer(engine_.WaitForRequest(), "a");
  EXPECT_THAT(client.ReadAll(), AllOf(HasSubstr("\r\n\r\ndata: {"), EndsWith("data: [DONE]\n\n"),
                                      Not(HasSubstr("Transfer-Encoding"))));
}

struct Refused {
  std::string request;
  std::string status;
};

TEST_F(ServerTest, WhatIsNoGoodRequestGetsTheRightStatus) {
  const std::string json = "\r\nHost: x\r\nContent-Type: application/json\r\n";
  const std::vector<Refused> all = {
      {"GET /v1/nothing HTTP/1.1\r\n\r\n", "404"},
      {"GET /v1/models/other HTTP/1.1\r\n\r\n", "404"},
      {"GET /v1/completions HTTP/1.1\r\n\r\n", "405"},
      {"DELETE /health HTTP/1.1\r\n\r\n", "405"},
      {"POST /v1/cache HTTP/1.1" + json + "Content-Length: 0\r\n\r\n", "405"},
      {"GET /v1/cache/flush HTTP/1.1\r\n\r\n", "405"},
      {"POST /v1/completions HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}",
       "415"},
      {"POST /v1/completions HTTP/1.1" + json + "Content-Length: 1\r\n\r\n{", "400"},
      {"POST /v1/completions HTTP/1.1" + json + "Content-Length: 2000000\r\n\r\n{", "413"},
      {"POST /v1/completions HTTP/1.1" + json + "Content-Length: -5\r\n\r\n", "400"},
      {"POST /v1/completions HTTP/1.1" + json + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
      {"POST /v1/completions HTTP/1.1" + json +
           "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
       "400"},
      {"GET / HTTP/9.9\r\n\r\n", "505"},
      {"GARBAGE\r\n\r\n", "400"},
      {"GET /health HTTP/1.1\r\nX: " + std::string(100000, 'a') + "\r\n\r\n", "431"},
      {"GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n", "431"},
  };
  for (const Refused& refused : all) {
    Client client = Connect();
    client.Send(refused.request);
    EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 " + refused.status),
                                         HasSubstr(R"({"error":{"message":)")))
        << refused.request.substr(0, 100);
  }
}

TEST_F(ServerTest, HeadAndOptionsAreAnsweredWithoutABody) {
  Client client = Connect();
  client.Send("HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr("Content-Length: 15"));
  client.Send("OPTIONS /v1/completions HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 204"), HasSubstr("Allow: POST, OPTIONS")));
  client.Get("/v1/models/tiny");
  EXPECT_THAT(client.Response(), HasSubstr(R"("id":"tiny")"));
}

TEST_F(ServerTest, ATargetMayBeAWholeUri) {
  Client client = Connect();
  for (const char* target : {"http://x/health", "HTTP://x:80/health?a=b", "https://x/health"}) {
    client.Get(target);
    EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200")) << target;
  }
  for (const char* target : {"http://x", "http://health", "ftp://x/health"}) {
    client.Get(target);
    EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 404")) << target;
  }
}

TEST_F(ServerTest, ATemplateThatTakesLongKeepsNobodyElseWaiting) {
  server_.reset();
  template_ = ChatTemplate::Create(
                  "{% set r = range(99999) %}{% for i in r %}{% for j in r %}"
                  "{% endfor %}{% endfor %}")
                  .value();
  Start();
  // Rendered on the I/O thread, the answer would be there before the other's tenth. Once is proof:
  // a busy machine may let the worker be done first.
  bool others_were_first = false;
  for (int attempt = 0; attempt < 20 && !others_were_first; ++attempt) {
    Client slow = Connect();
    Client other = Connect();
    slow.Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}]})");
    for (int i = 0; i < 10; ++i) {
      other.Get("/health");
      EXPECT_THAT(other.Response(), StartsWith("HTTP/1.1 200"));
    }
    others_were_first = !slow.HasBytes();
    EXPECT_THAT(slow.Response(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("steps")));
  }
  EXPECT_TRUE(others_were_first);
}

// Log-probabilities of so many tokens, each with 20 alternatives: 100,000 numbers.
constexpr size_t kManyScores = 5000;

SampledToken Scored() {
  const TokenId token = test::ByteTokenizerId("a");
  return {token, -1.0F, std::vector<TokenLogprob>(20, {token, -1.0F})};
}

// As above: made on the I/O thread, the answer would be there first, and once is proof.
TEST_F(ServerTest, ManyScoresOfAPromptKeepNobodyElseWaiting) {
  PromptEvent read;
  read.logprobs.assign(kManyScores, Scored());
  bool others_were_first = false;
  for (int attempt = 0; attempt < 20 && !others_were_first; ++attempt) {
    Client slow = Connect();
    Client other = Connect();
    slow.Post(kCompletions, R"({"prompt":"hi","echo":true,"logprobs":20,"stream":true})");
    const uint64_t request = engine_.WaitForRequest();
    engine_.Emit(request, read);
    for (int i = 0; i < 10; ++i) {
      other.Get("/health");
      EXPECT_THAT(other.Response(), StartsWith("HTTP/1.1 200"));
    }
    others_were_first = !slow.HasBytes();
    engine_.EmitFinish(request, FinishReason::kLength);
    EXPECT_TRUE(slow.ReadTo("0\r\n\r\n").ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"));
  }
  EXPECT_TRUE(others_were_first);
}

TEST_F(ServerTest, ManyScoresOfAnAnswerKeepNobodyElseWaiting) {
  server_.reset();
  options_.unread_bytes_max = 64 << 20;
  Start();
  bool others_were_first = false;
  for (int attempt = 0; attempt < 20 && !others_were_first; ++attempt) {
    Client slow = Connect();
    Client other = Connect();
    slow.Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}],
                                          "logprobs":true,"top_logprobs":20})");
    const uint64_t request = engine_.WaitForRequest();
    engine_.EmitPrompt(request);
    for (size_t i = 0; i < kManyScores; ++i) {
      engine_.Emit(request, TokenEvent{.sampled = Scored(), .at = {}});
    }
    engine_.EmitFinish(request, FinishReason::kLength);
    for (int i = 0; i < 10; ++i) {
      other.Get("/health");
      EXPECT_THAT(other.Response(), StartsWith("HTTP/1.1 200"));
    }
    others_were_first = !slow.HasBytes();
    EXPECT_THAT(slow.Response(), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_TRUE(others_were_first);
}

TEST_F(ServerTest, AClientThatWaitsForContinueIsTold) {
  Client client = Connect();
  client.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 15\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.ReadTo("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  client.Send(R"({"prompt":"hi"})");
  engine_.Answer(engine_.WaitForRequest(), "x");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, ABodyThatStopsComingIsGivenUp) {
  server_.reset();
  options_.body_timeout = std::chrono::milliseconds(50);
  Start();
  Client client = Connect();
  client.Send("POST /v1/completions HTTP/1.1\r\nContent-Length: 15\r\n\r\n{");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 408"));
}

TEST_F(ServerTest, MetricsCountTokensAndOutcomes) {
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  engine_.Answer(engine_.WaitForRequest(), "yes");
  client.Response();
  client.Post(kCompletions, "{}");
  client.Response();
  client.Get("/metrics");
  EXPECT_THAT(client.Response(),
              AllOf(HasSubstr("\nweir_prompt_tokens_total 2\n"),
                    HasSubstr("weir_prompt_source_tokens_total{source=\"computed\"} 2\n"),
                    HasSubstr("\nweir_generated_tokens_total 3\n"),
                    HasSubstr("weir_requests_total{outcome=\"length\"} 1\n"),
                    HasSubstr("weir_requests_total{outcome=\"invalid\"} 1\n"),
                    HasSubstr("\nweir_next_token_seconds_count 2\n")));
}

TEST_F(ServerTest, MetricsShowWhatTheCacheSaved) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hello","temperature":0})");
  const uint64_t request = engine_.WaitForRequest();
  PromptEvent read;
  read.sources = {.computed = 1, .device = 3, .replayed = 1};
  engine_.Emit(request, read);
  engine_.EmitFinish(request, FinishReason::kLength);
  EXPECT_THAT(client.Response(), HasSubstr(R"("prompt_tokens_details":{"cached_tokens":3})"));
  engine_.SetCounters({.vetoed_window_tokens = 300,
                       .vetoed_owed_tokens = 7,
                       .began_cold = 5,
                       .began_at_resume_point = 6,
                       .began_with_replay = 2,
                       .saved_seconds = 1.5});
  for (int scrape = 0; scrape < 2; ++scrape) {  // totals, not sums of scrapes
    client.Get("/metrics");
    const std::string text = client.Response();
    for (const char* line :
         {"weir_prompt_tokens_total 5", "weir_prompt_source_tokens_total{source=\"device\"} 3",
          "weir_prompt_source_tokens_total{source=\"replayed\"} 1",
          "weir_prompt_source_tokens_total{source=\"computed\"} 1",
          "weir_vetoed_tokens_total{reason=\"window\"} 300",
          "weir_vetoed_tokens_total{reason=\"owed_rows\"} 7",
          "weir_begun_requests_total{from=\"cold\"} 5",
          "weir_begun_requests_total{from=\"resume_point\"} 6",
          "weir_begun_requests_total{from=\"replay\"} 2", "weir_saved_seconds_total 1.5"}) {
      EXPECT_THAT(text, HasSubstr(fmt::format("\n{}\n", line)));
    }
  }
}

TEST_F(ServerTest, ASaltIsANamespaceAndAChatTellsWhereItsMessagesBegin) {
  Client client = Connect();
  client.Post(kCompletions, kPlain);
  const uint64_t plain = engine_.WaitForRequest();
  EXPECT_EQ(engine_.request(plain).cache_namespace, "");
  EXPECT_TRUE(engine_.request(plain).message_starts.empty());
  engine_.Answer(plain, "x");
  client.Response();
  client.Post("/v1/chat/completions",
              R"({"cache_salt":"mine","messages":[{"role":"system","content":"ab"},
                  {"role":"user","content":"ab"}]})");
  // The template of this test writes nothing between messages: one stretch of user text.
  const uint64_t chat = engine_.WaitForRequest();
  EXPECT_EQ(engine_.request(chat).cache_namespace, "salt:mine");
  EXPECT_TRUE(engine_.request(chat).message_starts.empty()) << "0 is no place to resume";
  engine_.Answer(chat, "x");
  client.Response();
  server_.reset();
  template_ = ChatTemplate::Create("{% for m in messages %}<>{{ m.content }}{% endfor %}").value();
  Start();
  Client other = Connect();
  other.Post("/v1/chat/completions", R"({"messages":[{"role":"system","content":"ab"},
                                         {"role":"user","content":"c"}]})");
  const uint64_t marked = engine_.WaitForRequest();
  EXPECT_EQ(engine_.request(marked).message_starts, (std::vector<uint32_t>{2, 6}));
  engine_.Answer(marked, "x");
  other.Response();
}

TEST_F(ServerTest, TheCacheIsShownAsTheEngineDescribesIt) {
  CacheReport report;
  report.pools.push_back(
      {.name = "window", .tile_bytes = 10, .tiles = 8, .tiles_used = 3, .tiles_live = 1});
  report.trie.nodes = 4;
  report.trie.tombstones = 2;
  report.trie.resume_points = 3;
  report.trie.resume_points_by_class = {1, 0, 0, 2};
  report.conversations.push_back({.tokens = 700});
  Client client = Connect();
  client.Get("/v1/cache");
  engine_.DescribeWith(report);
  const std::string answer = client.Response();
  ASSERT_THAT(answer, AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("application/json")));
  const auto json = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n") + 4));
  EXPECT_EQ(json["pools"], nlohmann::json::parse(
                               R"([{"name":"window","tile_bytes":10,"tiles":8,"tiles_used":3,
                                   "tiles_live":1,"bytes":80,"bytes_used":30}])"));
  EXPECT_EQ(json["trie"]["nodes"], 4);
  EXPECT_EQ(json["trie"]["tombstones"], 2);
  EXPECT_EQ(
      json["resume_points"],
      nlohmann::json::parse(R"({"total":3,"periodic":1,"superseded":0,"branch":0,"newest":2})"));
  EXPECT_EQ(json["conversations"], nlohmann::json::parse(R"([{"tokens":700}])"));
}

TEST_F(ServerTest, AFlushTellsHowMuchWasForgottenAndOthersAreServedMeanwhile) {
  Client client = Connect();
  client.Send("POST /v1/cache/flush HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  Client other = Connect();
  other.Get("/health");
  EXPECT_THAT(other.Response(), StartsWith("HTTP/1.1 200"));
  EXPECT_FALSE(client.HasBytes());
  engine_.FlushWith(12);
  EXPECT_THAT(client.Response(),
              AllOf(StartsWith("HTTP/1.1 200"), EndsWith(R"({"forgotten_nodes":12})")));
  client.Get("/health");  // the connection goes on
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ServerTest, AnEngineThatDoesNotComeToItIsA503AndItsLateAnswerHarmless) {
  server_.reset();
  options_.engine_timeout = std::chrono::milliseconds(20);
  Start();
  Client client = Connect();
  for (int i = 0; i < 2; ++i) {
    client.Get("/v1/cache");
    EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
    engine_.DescribeWith({});  // too late
  }
  client.Post(kCompletions, kPlain);
  engine_.Answer(engine_.WaitForRequest(), "yes");
  EXPECT_THAT(client.Response(), HasSubstr(R"("text":"yes")"));
  client.Get("/v1/cache");
  client.Close();  // while the engine is asked
  engine_.DescribeWith({});
}

TEST_F(ServerTest, AStopDoesNotWaitForAQuestionToTheEngine) {
  server_.reset();
  options_.engine_timeout = std::chrono::hours(1);
  Start();
  Client client = Connect();
  client.Get("/v1/cache");
  engine_.WaitForQuestion();
  server_->Stop(std::chrono::milliseconds(0));
  EXPECT_EQ(client.ReadAll(), "");
}

TEST_F(ServerTest, NoPageOfAnotherOriginFlushesTheCache) {
  Client client = Connect();
  client.Send(
      "POST /v1/cache/flush HTTP/1.1\r\nHost: x\r\nOrigin: http://elsewhere\r\n"
      "Content-Length: 0\r\n\r\n");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 415"));
}

TEST_F(ServerTest, APortInUseIsOneErrorThatNamesIt) {
  options_.port = server_->port();
  const auto second = Server::Start(options_, {engine_, tokenizer_, template_});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kIo);
  EXPECT_THAT(second.error().message, HasSubstr(fmt::format("127.0.0.1:{}", options_.port)));
}

TEST_F(ServerTest, StopEndsConnectionsThatAreIdleOrPending) {
  Client idle = Connect();
  idle.Get("/health");
  idle.Response();
  Client pending = Connect();
  pending.Post(kCompletions, kPlain);
  const uint64_t request = engine_.WaitForRequest();
  engine_.Emit(request, FinishEvent{.reason = FinishReason::kCancelled, .at = {}});
  server_->Stop(std::chrono::milliseconds(0));
  EXPECT_EQ(idle.ReadAll(), "");
  EXPECT_THAT(pending.ReadAll(), StartsWith("HTTP/1.1 503"));
}

}  // namespace
}  // namespace weir
