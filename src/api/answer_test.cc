#include "api/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SampledToken Sampled(std::string_view piece, float logprob = -0.5F) {
  const TokenId token = test::ByteTokenizerId(piece);
  return {token, logprob, {{token, logprob}, {test::ByteTokenizerId("b"), -3}}};
}

PromptEvent PromptRead(TokenSources sources, std::vector<SampledToken> logprobs = {}) {
  PromptEvent event;
  event.sources = sources;
  event.logprobs = std::move(logprobs);
  return event;
}

class AnswerTest : public testing::Test {
 protected:
  Answer Make(AnswerKind kind, AnswerSpec spec) {
    if (spec.prompts.empty()) spec.prompts = {{.token_count = 7}};
    return {{.kind = kind, .id = "id-1", .created = 5, .model = "m"}, std::move(spec), tokenizer_};
  }
  // The data of every frame; the last one must be [DONE].
  static std::vector<Json> Chunks(const std::string& frames) {
    std::vector<Json> out;
    size_t at = 0;
    while (at < frames.size()) {
      const size_t end = frames.find("\n\n", at);
      EXPECT_NE(end, std::string::npos);
      EXPECT_EQ(frames.substr(at, 6), "data: ");
      const std::string data = frames.substr(at + 6, end - at - 6);
      at = end + 2;
      if (at == frames.size()) {
        EXPECT_EQ(data, "[DONE]");
      } else {
        out.push_back(Json::parse(data));
      }
    }
    return out;
  }

  Tokenizer tokenizer_ = test::ByteTokenizer();
};

TEST_F(AnswerTest, APlainCompletionHasTextFinishAndUsage) {
  Answer answer = Make(AnswerKind::kCompletion, {});
  answer.OnPrompt(0, PromptRead({.computed = 4, .device = 2, .replayed = 1}));
  answer.OnToken(0, Sampled("a"));
  answer.OnToken(0, Sampled("b"));
  answer.OnFinish(0, FinishReason::kLength);
  EXPECT_EQ(Json::parse(answer.TakeBody()), Json::parse(R"({"id":"id-1","object":"text_completion",
      "created":5,"model":"m","choices":[{"index":0,"text":"ab","logprobs":null,
      "finish_reason":"length"}],"usage":{"prompt_tokens":7,"completion_tokens":2,
      "total_tokens":9,"prompt_tokens_details":{"cached_tokens":2},
      "prompt_tokens_sources":{"device":2,"replayed":1,"computed":4}}})"));
}

TEST_F(AnswerTest, AChatStreamBeginsWithTheRoleAndEndsWithReasonUsageDone) {
  Answer answer = Make(AnswerKind::kChat, {.choice = {.stream = true}, .include_usage = true});
  answer.OnPrompt(0, PromptRead({.computed = 7}));
  answer.OnToken(0, Sampled("a"));
  std::string frames = answer.TakeFrames();
  answer.OnFinish(0, FinishReason::kStop);
  frames += answer.TakeFrames();
  const std::vector<Json> chunks = Chunks(frames);
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(chunks[0]["choices"][0]["delta"], Json::parse(R"({"role":"assistant","content":""})"));
  EXPECT_EQ(chunks[1]["choices"][0]["delta"], Json::parse(R"({"content":"a"})"));
  EXPECT_EQ(chunks[2]["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(chunks[2]["usage"].is_null());
  EXPECT_EQ(chunks[3]["choices"], Json::array());
  EXPECT_EQ(chunks[3]["usage"]["completion_tokens"], 1);
  EXPECT_EQ(chunks[3]["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(chunks[3]["usage"]["prompt_tokens_sources"]["computed"], 7);
}

TEST_F(AnswerTest, AStopStringEndsItWithoutLeakingAndCountsItsTokens) {
  Answer answer = Make(AnswerKind::kCompletion, {.choice = {.stops = {"ba"}}});
  answer.OnPrompt(0, PromptRead({.computed = 7}));
  answer.OnToken(0, Sampled("a"));
  answer.OnToken(0, Sampled("b"));
  EXPECT_FALSE(answer.done());
  answer.OnToken(0, Sampled("a"));
  ASSERT_TRUE(answer.done());
  const Json body = Json::parse(answer.TakeBody());
  EXPECT_EQ(body["choices"][0]["text"], "a");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens"], 3);
}

TEST_F(AnswerTest, TextHeldBackIsGivenOutAtTheEnd) {
  Answer answer = Make(AnswerKind::kCompletion, {.choice = {.stream = true, .stops = {"abc"}}});
  answer.OnPrompt(0, PromptRead({.computed = 7}));
  answer.OnToken(0, Sampled("a"));
  answer.OnToken(0, Sampled("b"));
  EXPECT_EQ(answer.TakeFrames(), "");
  answer.OnFinish(0, FinishReason::kLength);
  const std::vector<Json> chunks = Chunks(answer.TakeFrames());
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "ab");
  EXPECT_EQ(chunks[1]["choices"][0]["finish_reason"], "length");
}

TEST_F(AnswerTest, ACharacterOfSeveralTokensComesWholeOrAsReplacement) {
  Answer answer = Make(AnswerKind::kCompletion, {.choice = {.stream = true}});
  answer.OnPrompt(0, PromptRead({.computed = 7}));
  for (const char* byte : {"\xc3", "\xa9", "\xe2", "\x82"}) answer.OnToken(0, Sampled(byte));
  answer.OnFinish(0, FinishReason::kLength);
  const std::vector<Json> chunks = Chunks(answer.TakeFrames());
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "\u00e9");
  EXPECT_EQ(chunks[1]["choices"][0]["text"], "\ufffd");
}

TEST_F(AnswerTest, ChatLogprobsHaveOneEntryAToken) {
  Answer answer =
      Make(AnswerKind::kChat, {.choice = {.logprobs = true, .leading = LeadingSpace::kStrip}});
  answer.OnPrompt(0, PromptRead({.computed = 7}));
  answer.OnToken(0, Sampled(" "));
  answer.OnToken(0, Sampled("\xc3"));
  answer.OnToken(0, Sampled("\xa9"));
  answer.OnFinish(0, FinishReason::kLength);
  const Json choice = Json::parse(answer.TakeBody())["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "\u00e9");
  const Json& content = choice["logprobs"]["content"];
  ASSERT_EQ(content.size(), 3U);
  EXPECT_EQ(content[0]["token"], "") << "the leading space is stripped here too";
  EXPECT_EQ(content[1]["token"], "\ufffd");
  EXPECT_EQ(content[1]["bytes"], Json::array({0xc3}));
  EXPECT_EQ(content[2]["logprob"], -0.5);
  EXPECT_EQ(content[2]["top_logprobs"].size(), 2U);
  EXPECT_EQ(content[2]["top_logprobs"][1]["token"], "b");
}

TEST_F(AnswerTest, EchoPutsThePromptBeforeTheAnswerWithItsLogprobs) {
  AnswerSpec spec;
  spec.choice.logprobs = true;
  spec.prompts = {{.token_count = 2,
                   .echo = Echo{"ab", {test::ByteTokenizerId("a"), test::ByteTokenizerId("b")}}}};
  Answer answer = Make(AnswerKind::kCompletion, std::move(spec));
  answer.OnPrompt(0, PromptRead({.computed = 2}, {Sampled("b", -1)}));
  answer.OnToken(0, Sampled("\xc3"));
  answer.OnFinish(0, FinishReason::kLength);
  const Json choice = Json::parse(answer.TakeBody())["choices"][0];
  EXPECT_EQ(choice["text"], "ab\ufffd");
  EXPECT_EQ(choice["logprobs"]["tokens"], Json::array({"a", "b", "bytes:\\xc3"}));
  EXPECT_EQ(choice["logprobs"]["token_logprobs"], Json::array({nullptr, -1.0, -0.5}));
  EXPECT_EQ(choice["logprobs"]["text_offset"], Json::array({0, 1, 2}));
}

TEST_F(AnswerTest, LogprobsOfAStreamAreThoseOfThePlainAnswer) {
  for (const AnswerKind kind : {AnswerKind::kChat, AnswerKind::kCompletion}) {
    Answer plain = Make(kind, {.choice = {.logprobs = true, .stops = {"aaab"}}});
    Answer stream = Make(kind, {.choice = {.stream = true, .logprobs = true, .stops = {"aaab"}}});
    for (Answer* answer : {&plain, &stream}) {
      answer->OnPrompt(0, PromptRead({.computed = 7}));
      for (const char* piece : {"b", "a", "a", "a", "a"}) answer->OnToken(0, Sampled(piece));
      answer->OnFinish(0, FinishReason::kLength);
    }
    const char* list = kind == AnswerKind::kChat ? "content" : "tokens";
    const Json whole = Json::parse(plain.TakeBody())["choices"][0]["logprobs"][list];
    Json joined = Json::array();
    for (const Json& chunk : Chunks(stream.TakeFrames())) {
      const Json& block = chunk["choices"][0]["logprobs"];
      if (block.is_null()) continue;
      for (const Json& entry : block[list]) joined.push_back(entry);
    }
    EXPECT_EQ(joined, whole);
    EXPECT_EQ(whole.size(), 5U);
  }
}

TEST_F(AnswerTest, ChoicesMixAndEachKeepsItsOwnTextStopsAndReason) {
  for (const bool stream : {false, true}) {
    AnswerSpec spec;
    spec.choice = {.stream = stream, .stops = {"ba"}};
    spec.include_usage = stream;
    spec.choices_per_prompt = 2;
    Answer answer = Make(AnswerKind::kCompletion, std::move(spec));
    ASSERT_EQ(answer.choice_count(), 2U);
    answer.OnPrompt(0, PromptRead({.computed = 7}));
    answer.OnToken(0, Sampled("b"));
    answer.OnPrompt(1, PromptRead({.computed = 1, .device = 6}));
    answer.OnToken(1, Sampled("a"));
    answer.OnToken(0, Sampled("a"));
    EXPECT_TRUE(answer.done(0));
    EXPECT_FALSE(answer.done(1));
    EXPECT_FALSE(answer.done());
    answer.OnToken(1, Sampled("c"));
    answer.OnFinish(1, FinishReason::kLength);
    ASSERT_TRUE(answer.done());
    EXPECT_EQ(answer.finish_reason(), FinishReason::kLength);

    std::string texts[2];
    std::string reasons[2];
    Json usage;
    const std::vector<Json> parts =
        stream ? Chunks(answer.TakeFrames()) : std::vector<Json>{Json::parse(answer.TakeBody())};
    for (const Json& part : parts) {
      for (const Json& choice : part["choices"]) {
        const auto index = choice["index"].get<size_t>();
        ASSERT_LT(index, 2U);
        texts[index] += choice["text"].get<std::string>();
        if (choice["finish_reason"].is_null()) continue;
        EXPECT_EQ(reasons[index], "") << "one reason a choice";
        reasons[index] = choice["finish_reason"];
      }
      if (!part["usage"].is_null()) usage = part["usage"];
    }
    EXPECT_THAT(texts, ElementsAre("", "ac"));
    EXPECT_THAT(reasons, ElementsAre("stop", "length"));
    EXPECT_EQ(usage["prompt_tokens"], 7) << "the prompt counts once";
    EXPECT_EQ(usage["prompt_tokens_sources"],
              Json::parse(R"({"device":0,"replayed":0,"computed":7})"));
    EXPECT_EQ(usage["completion_tokens"], 4);
  }
}

TEST_F(AnswerTest, EveryChatChoiceOfAStreamHasItsRole) {
  Answer answer = Make(AnswerKind::kChat, {.choice = {.stream = true}, .choices_per_prompt = 2});
  for (const uint32_t choice : {1U, 0U}) {
    answer.OnPrompt(choice, PromptRead({.computed = 7}));
    answer.OnFinish(choice, FinishReason::kStop);
  }
  std::vector<std::string> seen;
  for (const Json& chunk : Chunks(answer.TakeFrames())) {
    const Json& choice = chunk["choices"][0];
    seen.push_back(choice["index"].dump() + choice["delta"].dump());
  }
  EXPECT_THAT(seen, ElementsAre(R"(1{"role":"assistant","content":""})", "1{}",
                                R"(0{"role":"assistant","content":""})", "0{}"));
}

TEST_F(AnswerTest, UsageSumsOverPromptsAndEachEchoesItsOwn) {
  AnswerSpec spec;
  spec.prompts = {{.token_count = 2, .echo = Echo{"ab", {}}},
                  {.token_count = 3, .echo = Echo{"abc", {}}}};
  Answer answer = Make(AnswerKind::kCompletion, std::move(spec));
  answer.OnPrompt(0, PromptRead({.computed = 2}));
  answer.OnFinish(0, FinishReason::kStop);
  answer.OnPrompt(1, PromptRead({.computed = 1, .device = 2}));
  answer.OnToken(1, Sampled("b"));
  answer.OnFinish(1, FinishReason::kStop);
  EXPECT_EQ(answer.finish_reason(), FinishReason::kStop);
  const Json body = Json::parse(answer.TakeBody());
  EXPECT_EQ(body["choices"][0]["text"], "ab");
  EXPECT_EQ(body["choices"][1]["text"], "abcb");
  EXPECT_EQ(body["choices"][1]["index"], 1);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 2);
  EXPECT_EQ(body["usage"]["prompt_tokens_sources"]["computed"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 1);
}

}  // namespace
}  // namespace weir
