// API keys: who may ask what, how much at once, and whose cached tokens are whose.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/server_fixture.h"

namespace weir {
namespace {

using test::Client;
using test::kCompletions;
using test::kPlain;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class AccessTest : public test::ServerTest {
 protected:
  void SetUp() override {
    options_.keys =
        ApiKeys::Parse("sk-ann ann concurrent=2\nsk-bob bob\nsk-root root admin\n", "test").value();
    Start();
  }
  static void Get(Client& client, std::string_view path, std::string_view key) {
    client.Send(
        fmt::format("GET {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", path, key));
  }
  static void Post(Client& client, const std::string& body, std::string_view key,
                   std::string_view path = kCompletions) {
    client.Send(
        fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    path, key, body.size(), body));
  }
};

TEST_F(AccessTest, WithoutARightKeyItIsA401ThatAsksForOne) {
  for (const char* header : {"", "Authorization: Bearer sk-eve\r\n", "Authorization: Bearer\r\n",
                             "Authorization: Token sk-ann\r\n", "Authorization: sk-ann\r\n"}) {
    for (const char* path :
         {kCompletions, "/v1/chat/completions", "/tokenize", "/detokenize", "/v1/cache/flush"}) {
      Client client = Connect();
      client.Send(
          fmt::format("POST {} HTTP/1.1\r\nHost: x\r\n{}Content-Type: application/json\r\n"
                      "Content-Length: 1\r\n\r\n{{",
                      path, header));
      EXPECT_THAT(client.Response(),
                  AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer\r\n"),
                        HasSubstr(R"("code":"invalid_api_key")"),
                        HasSubstr(R"("type":"invalid_request_error")"), Not(HasSubstr("sk-"))));
    }
    for (const char* path : {"/v1/models", "/v1/models/tiny", "/metrics", "/v1/cache"}) {
      Client client = Connect();
      client.Send(fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n{}\r\n", path, header));
      EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 401"));
    }
  }
}

TEST_F(AccessTest, WithoutAKeyNothingElseIsWrongWithARequestEither) {
  for (const char* request :
       {"GET /v1/nothing HTTP/1.1\r\n", "OPTIONS /v1/nothing HTTP/1.1\r\n",
        "GET /v1/completions HTTP/1.1\r\n", "DELETE /v1/models HTTP/1.1\r\n",
        "POST /v1/completions HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n"}) {
    Client client = Connect();
    client.Send(fmt::format("{}Host: x\r\n\r\n", request));
    EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 401")) << request;
  }
  Client known = Connect();
  Get(known, "/v1/nothing", "sk-ann");
  EXPECT_THAT(known.Response(), StartsWith("HTTP/1.1 404"));
  Client browser = Connect();  // which asks for the methods without the key
  browser.Send("OPTIONS /v1/completions HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(browser.ReadTo("\r\n\r\n"), StartsWith("HTTP/1.1 204"));
}

TEST_F(AccessTest, HealthIsOpenToAll) {
  Client client = Connect();
  client.Get("/health");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AccessTest, ALargeBodyIsNotReadWhereNoneIsTaken) {
  const std::string announced = "Content-Length: 100000\r\nExpect: 100-continue\r\n\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n\r\n186a0\r\n";
  for (const char* head : {"GET /health", "POST /health", "POST /v1/nothing"}) {
    for (const std::string& body : {announced, chunked}) {
      Client client = Connect();
      client.Send(
          fmt::format("{} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-ann\r\n{}", head, body));
      EXPECT_THAT(client.Response(),
                  AllOf(StartsWith("HTTP/1.1 413"), HasSubstr("more than 65536 bytes")))
          << head << body;
    }
  }
  Client client = Connect();  // a small one costs nothing, and is over before the next request
  client.Send("GET /health HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
  client.Get("/health");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AccessTest, ABodyIsNotWaitedForFromWhoMayNotAsk) {
  Client client = Connect();
  client.Send(
      "POST /v1/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer no\r\n"
      "Content-Type: application/json\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 401"));
}

TEST_F(AccessTest, WhatShowsSeveralUsersIsForAdmins) {
  for (const char* path : {"/metrics", "/v1/cache"}) {
    Client client = Connect();
    Get(client, path, "sk-ann");
    EXPECT_THAT(client.Response(),
                AllOf(StartsWith("HTTP/1.1 403"), HasSubstr("permission_error")));
  }
  Client flusher = Connect();
  Post(flusher, "{}", "sk-bob", "/v1/cache/flush");
  EXPECT_THAT(flusher.Response(), StartsWith("HTTP/1.1 403"));
  Client admin = Connect();
  Get(admin, "/metrics", "sk-root");
  EXPECT_THAT(admin.Response(), AllOf(StartsWith("HTTP/1.1 200"),
                                      HasSubstr("weir_http_refusals_total{status=\"403\"} 3\n"),
                                      HasSubstr("weir_http_refusals_total{status=\"401\"} 0\n")));
  Get(admin, "/v1/models", "sk-root");
  EXPECT_THAT(admin.Response(), StartsWith("HTTP/1.1 200"));
  Client user = Connect();
  Get(user, "/v1/models", "sk-bob");
  EXPECT_THAT(user.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AccessTest, TheKeyOfARequestIsNotThatOfTheNextOnItsConnection) {
  Client client = Connect();
  Post(client, kPlain, "sk-ann");
  const uint64_t request = engine_.WaitForRequest();
  EXPECT_EQ(engine_.request(request).cache_namespace, "key:ann");
  engine_.Answer(request, "x");
  client.Response();
  client.Post(kCompletions, kPlain);
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 401"));
}

TEST_F(AccessTest, NoTwoKeysShareANamespaceWhateverTheSalt) {
  std::vector<std::string> seen;
  for (const char* key : {"sk-ann", "sk-bob"}) {
    for (const char* body : {kPlain, R"({"prompt":"hi","cache_salt":"s"})"}) {
      Client client = Connect();
      Post(client, body, key);
      const uint64_t request = engine_.WaitForRequest();
      seen.push_back(engine_.request(request).cache_namespace);
      engine_.Answer(request, "x");
      client.Response();
    }
  }
  EXPECT_THAT(seen, testing::ElementsAre("key:ann", "key:ann;salt:s", "key:bob", "key:bob;salt:s"));
}

TEST_F(AccessTest, AKeyOverItsLimitIsA429AndOthersAreNot) {
  Client first = Connect();
  Post(first, R"({"prompt":"hi","n":2})", "sk-ann");
  const uint64_t running = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  Client more = Connect();
  Post(more, kPlain, "sk-ann");
  EXPECT_THAT(more.Response(), AllOf(StartsWith("HTTP/1.1 429"), HasSubstr("Retry-After: 1"),
                                     HasSubstr(R"("code":"rate_limit_exceeded")")));
  Client other = Connect();
  Post(other, kPlain, "sk-bob");
  engine_.Answer(engine_.WaitForRequest(), "x");
  EXPECT_THAT(other.Response(), StartsWith("HTTP/1.1 200"));
  engine_.Answer(running, "x");
  engine_.Answer(second, "x");
  EXPECT_THAT(first.Response(), StartsWith("HTTP/1.1 200"));
  Post(first, kPlain, "sk-ann");  // on the same connection: its answers before have ended
  engine_.Answer(engine_.WaitForRequest(), "x");
  EXPECT_THAT(first.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(AccessTest, WhoLeavesFreesTheKey) {
  Client client = Connect();
  Post(client, R"({"prompt":"hi","n":2})", "sk-ann");
  const uint64_t first = engine_.WaitForRequest();
  engine_.WaitForRequest();
  client.Close();
  EXPECT_TRUE(engine_.WaitForCancel(first));
  // The cancel is on its way out before the connection has come to its end.
  std::string reply = "HTTP/1.1 429";
  while (reply.starts_with("HTTP/1.1 429")) {
    Client next = Connect();
    Post(next, R"({"prompt":5})", "sk-ann");
    reply = next.Response();
  }
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 400"));
}

TEST_F(AccessTest, MoreAnswersThanAKeyMayEverHaveAreA400) {
  Client client = Connect();
  Post(client, R"({"prompt":"hi","n":3})", "sk-ann");
  EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(R"("param":"n")")));
}

}  // namespace
}  // namespace weir
