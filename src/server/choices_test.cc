// Requests for several answers: n and lists of prompts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/server_fixture.h"

namespace weir {
namespace {

using test::ByteTokenizerId;
using test::Client;
using test::kCompletions;
using test::ServerTest;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ChoicesTest : public ServerTest {
 protected:
  static nlohmann::json BodyOf(const std::string& response) {
    return nlohmann::json::parse(response.substr(response.find("\r\n\r\n") + 4));
  }
};

TEST_F(ChoicesTest, EachIsAnEngineRequestThatDiffersInItsChoiceAlone) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2,"seed":5,"logit_bias":{"7":3}})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  EXPECT_EQ(engine_.request(first).prompt, engine_.request(second).prompt);
  EXPECT_EQ(engine_.request(first).sampling.seed, 5U);
  EXPECT_EQ(engine_.request(second).sampling.seed, 5U);
  EXPECT_EQ(engine_.request(first).sampling.choice, 0U);
  EXPECT_EQ(engine_.request(second).sampling.choice, 1U);
  EXPECT_EQ(engine_.request(second).sampling.logit_bias,
            (std::vector<LogitBias>{{TokenId(7), 3.0F}}));
  engine_.Answer(second, "two");
  engine_.Answer(first, "one!");
  const auto body = BodyOf(client.Response());
  EXPECT_EQ(body["choices"][0]["text"], "one!");
  EXPECT_EQ(body["choices"][1]["text"], "two");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(body["usage"]["completion_tokens"], 7);
}

TEST_F(ChoicesTest, ThoseOfSeveralPromptsCountOnWithinTheList) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":["hi","hi"],"n":2})");
  std::vector<GenerationRequest> requests;
  for (int i = 0; i < 4; ++i) {
    const uint64_t number = engine_.WaitForRequest();
    requests.push_back(engine_.request(number));
    engine_.Answer(number, std::string(1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(requests[0].sampling.seed, requests[1].sampling.seed);
  EXPECT_NE(requests[0].sampling.seed, requests[2].sampling.seed) << "nobody asked for equal ones";
  EXPECT_EQ(requests[2].sampling.choice, 0U);
  EXPECT_EQ(requests[3].sampling.choice, 1U);
  const auto body = BodyOf(client.Response());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["text"], std::string(1, static_cast<char>('a' + i)));
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 4);
}

TEST_F(ChoicesTest, MixInAStreamAsTheirTokensCome) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2,"stream":true})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  engine_.EmitPrompt(first);
  engine_.EmitText(first, "a");
  client.ReadTo(R"("index":0,"text":"a")");
  engine_.EmitPrompt(second);
  engine_.EmitText(second, "b");
  client.ReadTo(R"("index":1,"text":"b")");
  engine_.EmitText(first, "c");
  client.ReadTo(R"("index":0,"text":"c")");
  engine_.EmitFinish(first, FinishReason::kStop);
  EXPECT_THAT(client.ReadTo(R"("finish_reason":"stop")"), Not(HasSubstr("[DONE]")));
  engine_.EmitFinish(second, FinishReason::kLength);
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"),
              AllOf(HasSubstr(R"("finish_reason":"length")"), HasSubstr("data: [DONE]\n\n")));
}

TEST_F(ChoicesTest, AStopStringOfOneCancelsItAlone) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2,"stop":"lo"})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  engine_.EmitPrompt(first);
  engine_.EmitPrompt(second);
  engine_.EmitText(first, "hello, late");
  EXPECT_TRUE(engine_.WaitForCancel(first));
  engine_.EmitFinish(first, FinishReason::kCancelled);
  engine_.EmitText(second, "b");
  EXPECT_FALSE(engine_.is_cancelled(second));
  engine_.EmitFinish(second, FinishReason::kStop);
  const auto body = BodyOf(client.Response());
  EXPECT_EQ(body["choices"][0]["text"], "hel");
  EXPECT_EQ(body["choices"][1]["text"], "b");
}

TEST_F(ChoicesTest, AllAreCancelledWhenTheClientGoes) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":3})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  const uint64_t third = engine_.WaitForRequest();
  engine_.EmitPrompt(first);
  engine_.EmitText(first, "a");
  client.Close();
  for (const uint64_t each : {first, second, third}) EXPECT_TRUE(engine_.WaitForCancel(each));
}

TEST_F(ChoicesTest, NoneRunsOnWhenTheServerFailsAtOne) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2,"stop":"lo"})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  engine_.ThrowAtNextCancel();
  engine_.EmitPrompt(first);
  engine_.EmitText(first, "hello");
  EXPECT_EQ(client.ReadAll(), "");
  for (const uint64_t each : {first, second}) EXPECT_TRUE(engine_.WaitForCancel(each));
  engine_.EmitText(second, "late");
  Client other = Connect();
  other.Post(kCompletions, R"({"prompt":"hi"})");
  engine_.Answer(engine_.WaitForRequest(), "yes");
  EXPECT_THAT(other.Response(), HasSubstr(R"("text":"yes")"));
}

TEST_F(ChoicesTest, ScoresOfLongPromptsDoNotMakeAClientSlow) {
  Client client = Connect();
  client.Post(kCompletions,
              R"({"prompt":["hi","hi","hi"],"echo":true,"logprobs":20,"stream":true})");
  // Counted as tokens of an answer are, each prompt would bring 196 KB, and the bound is 64 KiB.
  const std::vector<TokenLogprob> top(20, {ByteTokenizerId("b"), -2.0F});
  PromptEvent read;
  read.logprobs.assign(90, SampledToken{ByteTokenizerId("a"), -1.0F, top});
  for (int i = 0; i < 3; ++i) {
    const uint64_t request = engine_.WaitForRequest();
    engine_.Emit(request, read);
    engine_.EmitFinish(request, FinishReason::kLength);
  }
  EXPECT_THAT(client.ReadTo("0\r\n\r\n"), HasSubstr("data: [DONE]\n\n"));
}

TEST_F(ChoicesTest, AllPromptsTogetherMayBringAsManyScoresAsOneWithAllAlternatives) {
  // A context of 100 tokens and 20 alternatives: 2,100 numbers.
  engine_.Refuse({ErrorCode::kResourceExhausted, "it came as far as the queue"});
  const auto post = [&](int prompts, int alternatives) {
    nlohmann::json body = {{"echo", true}, {"logprobs", alternatives}, {"prompt", {}}};
    for (int i = 0; i < prompts; ++i) body["prompt"].push_back(std::string(50, 'a'));
    Client client = Connect();
    client.Post(kCompletions, body.dump());
    return client.Response();
  };
  EXPECT_THAT(post(3, 20), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(R"("param":"prompt")")));
  EXPECT_THAT(post(2, 20), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(post(3, 13), StartsWith("HTTP/1.1 503"));
}

TEST_F(ChoicesTest, AnErrorOfOneFailsTheWholeAndEndsTheOthers) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  engine_.EmitPrompt(first);
  engine_.EmitText(first, "a");
  engine_.Emit(second, Error{ErrorCode::kResourceExhausted, "no tile"});
  EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("no tile")));
  EXPECT_TRUE(engine_.WaitForCancel(first));
}

TEST_F(ChoicesTest, AQueueThatTakesOnlySomeGetsNone) {
  engine_.RefuseAfter(2, {ErrorCode::kResourceExhausted, "64 requests wait already"});
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":3})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  EXPECT_TRUE(engine_.WaitForCancel(first));
  EXPECT_TRUE(engine_.WaitForCancel(second));
}

TEST_F(ChoicesTest, MoreThanTheQueueCouldEverTakeAreA400ThatNamesTheField) {
  engine_.SetQueueCapacity(2);
  const struct {
    const char* path;
    const char* body;
    const char* param;
  } all[] = {
      {kCompletions, R"({"prompt":"hi","n":3})", "n"},
      {kCompletions, R"({"prompt":["a","b","c"]})", "prompt"},
      {"/v1/chat/completions", R"({"messages":[{"role":"user","content":"hi"}],"n":3})", "n"},
  };
  for (const auto& each : all) {
    Client client = Connect();
    client.Post(each.path, each.body);
    EXPECT_THAT(client.Response(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("has 2 places"),
                                         HasSubstr(fmt::format(R"("param":"{}")", each.param))));
  }
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2})");
  engine_.Answer(engine_.WaitForRequest(), "x");
  engine_.Answer(engine_.WaitForRequest(), "x");
  EXPECT_THAT(client.Response(), StartsWith("HTTP/1.1 200"));
}

TEST_F(ChoicesTest, TheMetricsCountThePromptOnceAndEveryToken) {
  Client client = Connect();
  client.Post(kCompletions, R"({"prompt":"hi","n":2})");
  const uint64_t first = engine_.WaitForRequest();
  const uint64_t second = engine_.WaitForRequest();
  engine_.Answer(first, "yes");
  engine_.Answer(second, "no");
  client.Response();
  client.Get("/metrics");
  EXPECT_THAT(client.Response(), AllOf(HasSubstr("\nweir_prompt_tokens_total 2\n"),
                                       HasSubstr("\nweir_generated_tokens_total 5\n"),
                                       HasSubstr("\nweir_first_token_seconds_count 1\n"),
                                       HasSubstr("\nweir_next_token_seconds_count 3\n"),
                                       HasSubstr("weir_requests_total{outcome=\"length\"} 1\n")));
}

}  // namespace
}  // namespace weir
