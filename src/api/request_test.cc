#include "api/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kRandomSeed = 4711;

ServedModel TestModel() { return {.id = "m", .vocab_size = 1000, .context_tokens = 64}; }

// The request `{"prompt": "hi"}` or `{"messages": [hi]}` with some fields changed.
Json Body(bool chat, const Json& change) {
  Json body = chat ? Json{{"messages", Json::array({{{"role", "user"}, {"content", "hi"}}})}}
                   : Json{{"prompt", "hi"}};
  for (const auto& [key, value] : change.items()) body[key] = value;
  return body;
}

ApiResult<CompletionRequest> Completion(const std::string& change) {
  return ParseCompletionRequest(Body(false, Json::parse(change)).dump(), TestModel(), kRandomSeed);
}
ApiResult<ChatRequest> Chat(const std::string& change) {
  return ParseChatRequest(Body(true, Json::parse(change)).dump(), TestModel(), kRandomSeed);
}

struct Wrong {
  std::string change;
  std::string param;
};

const std::vector<Wrong>& WrongInBoth() {
  static const std::vector<Wrong> all = {
      {R"({"max_tokens":"abc"})", "max_tokens"},
      {R"({"max_tokens":[1]})", "max_tokens"},
      {R"({"max_tokens":1.5})", "max_tokens"},
      {R"({"max_tokens":-1})", "max_tokens"},
      {R"({"max_tokens":true})", "max_tokens"},
      {R"({"max_tokens":1e30})", "max_tokens"},
      {R"({"max_completion_tokens":"x"})", "max_completion_tokens"},
      {R"({"min_tokens":9,"max_tokens":8})", "min_tokens"},
      {R"({"temperature":"hot"})", "temperature"},
      {R"({"temperature":-1})", "temperature"},
      {R"({"temperature":[0.5]})", "temperature"},
      {R"({"top_p":1.5})", "top_p"},
      {R"({"top_p":-0.1})", "top_p"},
      {R"({"top_k":-2})", "top_k"},
      {R"({"top_k":0.5})", "top_k"},
      {R"({"min_p":2})", "min_p"},
      {R"({"repeat_penalty":0})", "repeat_penalty"},
      {R"({"repetition_penalty":"x"})", "repetition_penalty"},
      {R"({"presence_penalty":"a lot"})", "presence_penalty"},
      {R"({"frequency_penalty":2.5})", "frequency_penalty"},
      {R"({"n":0})", "n"},
      {R"({"n":17})", "n"},
      {R"({"n":-1})", "n"},
      {R"({"n":"two"})", "n"},
      {R"({"n":1.5})", "n"},
      {R"({"best_of":3})", "best_of"},
      {R"({"best_of":3,"n":2})", "best_of"},
      {R"({"best_of":"x"})", "best_of"},
      {R"({"stop":5})", "stop"},
      {R"({"stop":[1,2]})", "stop"},
      {R"({"stop":[["a"]]})", "stop"},
      {R"({"stop":{"a":1}})", "stop"},
      {R"({"stream":"yes"})", "stream"},
      {R"({"stream":2})", "stream"},
      {R"({"stream_options":"usage"})", "stream_options"},
      {R"({"stream_options":{"include_usage":1}})", "stream_options"},
      {R"({"seed":"x"})", "seed"},
      {R"({"seed":[1]})", "seed"},
      {R"({"seed":1e22})", "seed"},
      {R"({"model":5})", "model"},
      {R"({"ignore_eos":"no"})", "ignore_eos"},
      {R"({"logit_bias":["a"]})", "logit_bias"},
      {R"({"logit_bias":3})", "logit_bias"},
      {R"({"logit_bias":{"5":"much"}})", "logit_bias"},
      {R"({"logit_bias":{"99999999":5}})", "logit_bias"},
      {R"({"logit_bias":{"1000":5}})", "logit_bias"},
      {R"({"logit_bias":{"-1":5}})", "logit_bias"},
      {R"({"logit_bias":{"":5}})", "logit_bias"},
      {R"({"logit_bias":{"5x":5}})", "logit_bias"},
      {R"({"logit_bias":{" 5":5}})", "logit_bias"},
      {R"({"logit_bias":{"99999999999999999999999":5}})", "logit_bias"},
      {R"({"logit_bias":{"5":100.5}})", "logit_bias"},
      {R"({"logit_bias":{"5":-101}})", "logit_bias"},
      {R"({"logit_bias":{"5":1e300}})", "logit_bias"},
      {R"({"logit_bias":{"5":true}})", "logit_bias"},
      {R"({"logit_bias":{"5":null}})", "logit_bias"},
      {R"({"logit_bias":{"5":1,"05":2}})", "logit_bias"},
      {R"({"logit_bias":[5]})", "logit_bias"},
      {R"({"logit_bias":[[5]]})", "logit_bias"},
      {R"({"logit_bias":[[5,1,2]]})", "logit_bias"},
      {R"({"logit_bias":[["5",1]]})", "logit_bias"},
      {R"({"logit_bias":[[-5,1]]})", "logit_bias"},
      {R"({"logit_bias":[[5.5,1]]})", "logit_bias"},
      {R"({"logit_bias":[[1000,1]]})", "logit_bias"},
      {R"({"logit_bias":[[5,"x"]]})", "logit_bias"},
      {R"({"logit_bias":[[5,1],[6,1],[5,2]]})", "logit_bias"},
      {R"({"tools":"hammer"})", "tools"},
      {R"({"tools":[{"type":"function"}]})", "tools"},
      {R"({"tool_choice":"required"})", "tool_choice"},
      {R"({"functions":[{}]})", "functions"},
      {R"({"response_format":{"type":"poem"}})", "response_format"},
      {R"({"response_format":{"type":"json_object"}})", "response_format"},
      {R"({"response_format":3})", "response_format"},
      {R"({"response_format":{}})", "response_format"},
      {R"({"modalities":["audio"]})", "modalities"},
      {R"({"audio":{}})", "audio"},
      {R"({"prediction":{}})", "prediction"},
      {R"({"grammar":"root ::= x"})", "grammar"},
      {R"({"chat_template":"{{ x }}"})", "chat_template"},
      {R"({"documents":[{"text":"x"}]})", "documents"},
      {R"({"logprobs":"many"})", "logprobs"},
      {R"({"cache_salt":5})", "cache_salt"},
      {R"({"cache_salt":["a"]})", "cache_salt"},
      {R"({"cache_salt":""})", "cache_salt"},
      {R"({"cache_salt":"a\u0000b"})", "cache_salt"},
      {R"({"cache_salt":"a\nb"})", "cache_salt"},
      {R"({"cache_salt":"\u007f"})", "cache_salt"},
      {R"({"cache_salt":"a\u0085"})", "cache_salt"},
      {Json{{"cache_salt", std::string(257, 'a')}}.dump(), "cache_salt"},
  };
  return all;
}

TEST(ParseRequest, AWrongValueIsA400ThatNamesTheField) {
  for (const Wrong& wrong : WrongInBoth()) {
    const auto completion = Completion(wrong.change);
    ASSERT_FALSE(completion) << wrong.change;
    EXPECT_EQ(completion.error().status, 400);
    EXPECT_EQ(completion.error().param, wrong.param) << wrong.change;
    const auto chat = Chat(wrong.change);
    ASSERT_FALSE(chat) << wrong.change;
    EXPECT_EQ(chat.error().param, wrong.param) << wrong.change;
  }
}

TEST(ParseCompletionRequest, AWrongPromptIsRefused) {
  for (const char* change :
       {R"({"prompt":{"text":"hi"}})", R"({"prompt":true})", R"({"prompt":[1.5,2.5]})",
        R"({"prompt":[1000]})", R"({"prompt":[-5]})", R"({"prompt":[1e21]})", R"({"prompt":null})",
        R"({"prompt":[null]})", R"({"prompt":[[[1]]]})", R"({"prompt":[[5],[5,-1]]})",
        R"({"prompt":["a",5]})", R"({"prompt":5})", R"({"prompt":[[5],true]})"}) {
    const auto request = Completion(change);
    ASSERT_FALSE(request) << change;
    EXPECT_EQ(request.error().param, "prompt") << change;
  }
  EXPECT_FALSE(Completion(R"({"suffix":"x"})"));
  EXPECT_FALSE(Completion(R"({"logprobs":-3})"));
  EXPECT_FALSE(Completion(R"({"logprobs":true})"));
}

TEST(ParseCompletionRequest, APromptIsScoredOnceAndNotForEachAnswer) {
  const auto request = Completion(R"({"echo":true,"logprobs":0,"n":2})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().status, 400);
  EXPECT_EQ(request.error().param, "n");
  EXPECT_TRUE(Completion(R"({"echo":true,"logprobs":5,"prompt":["a","b"]})"));
  EXPECT_TRUE(Completion(R"({"echo":true,"n":2})"));
  EXPECT_TRUE(Completion(R"({"logprobs":5,"n":2})"));
}

TEST(ParseCompletionRequest, TheChatsNameOfLogprobsIsRefusedWithTheRightOne) {
  const auto request = Completion(R"({"logprobs":2,"top_logprobs":2})");
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().param, "top_logprobs");
  EXPECT_THAT(request.error().message, HasSubstr("here logprobs is"));
  EXPECT_TRUE(Completion(R"({"top_logprobs":0})"));
}

TEST(ParseChatRequest, AWrongMessageIsRefusedByItsPlace) {
  const std::vector<Wrong> all = {
      {R"({"messages":null})", "messages"},
      {R"({"messages":"hi"})", "messages"},
      {R"({"messages":{}})", "messages"},
      {R"({"messages":[]})", "messages"},
      {R"({"messages":["hi"]})", "messages[0]"},
      {R"({"messages":[null]})", "messages[0]"},
      {R"({"messages":[{"role":"user","content":"a"},{}]})", "messages[1].role"},
      {R"({"messages":[{"role":"wizard","content":"a"}]})", "messages[0].role"},
      {R"({"messages":[{"role":3,"content":"a"}]})", "messages[0].role"},
      {R"({"messages":[{"role":null,"content":"a"}]})", "messages[0].role"},
      {R"({"messages":[{"role":"user"}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":5}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[1]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"text":"x"}]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"smell"}]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", "messages[0].content"},
      {R"({"messages":[{"role":"assistant","tool_calls":5}]})", "messages[0].tool_calls"},
      {R"({"logprobs":true,"top_logprobs":"all"})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":-1})", "top_logprobs"},
      {R"({"logprobs":true,"top_logprobs":21})", "top_logprobs"},
      {R"({"top_logprobs":3})", "top_logprobs"},
      {R"({"logprobs":5})", "logprobs"},
      {R"({"chat_template_kwargs":"x"})", "chat_template_kwargs"},
      {R"({"chat_template_kwargs":{"messages":[]}})", "chat_template_kwargs"},
      {R"({"chat_template_kwargs":{"add_generation_prompt":false}})", "chat_template_kwargs"},
  };
  for (const Wrong& wrong : all) {
    const auto request = Chat(wrong.change);
    ASSERT_FALSE(request) << wrong.change;
    EXPECT_EQ(request.error().param, wrong.param) << wrong.change;
  }
}

TEST(ParseChatRequest, MoreMessagesThanTheContextHasTokensAreRefusedUnrendered) {
  Json many = Json::array();
  for (int i = 0; i < 65; ++i) many.push_back({{"role", "user"}, {"content", "a"}});
  const auto request = Chat(Json{{"messages", many}}.dump());
  ASSERT_FALSE(request);
  EXPECT_EQ(request.error().code, "context_length_exceeded");
  EXPECT_THAT(request.error().message, testing::AllOf(HasSubstr("64"), HasSubstr("65")));
}

TEST(ParseRequest, NullAndUnknownFieldsAreAsGoodAsAbsent) {
  const std::string change = R"({"stop":null,"stream":null,"temperature":null,"top_p":null,"n":null,
      "seed":null,"logit_bias":null,"stream_options":null,"user":"u","metadata":{"a":"b"},
      "store":true,"service_tier":"auto","tools":[],"tool_choice":"none","logit_bias_2":7,
      "response_format":{"type":"text"},"best_of":1,"max_tokens":null,"logprobs":null})";
  const auto request = Completion(change);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->options.sampling.temperature, 1.0F);
  EXPECT_EQ(request->options.sampling.seed, kRandomSeed);
  EXPECT_EQ(request->options.max_tokens, 16U);
  EXPECT_FALSE(request->options.top_logprobs);
  const auto chat = Chat(change);
  ASSERT_TRUE(chat) << chat.error().message;
  EXPECT_EQ(chat->options.max_tokens, UINT64_MAX);
}

TEST(ParseRequest, TakesEveryFieldThatIsBuilt) {
  const auto request = Completion(R"({"prompt":[[5,6,7]],"temperature":0.5,"top_p":0.9,"top_k":40,
      "min_p":0.05,"repetition_penalty":1.2,"frequency_penalty":-1,"presence_penalty":2,"seed":-7,
      "stop":["a","","b"],"max_tokens":9,"max_completion_tokens":5,"min_tokens":2,
      "ignore_eos":true,"logprobs":0,"echo":true,"stream":true,
      "stream_options":{"include_usage":true}})");
  ASSERT_TRUE(request) << request.error().message;
  const AnswerOptions& options = request->options;
  ASSERT_EQ(request->prompts.size(), 1U);
  EXPECT_EQ(std::get<std::vector<TokenId>>(request->prompts[0]),
            (std::vector<TokenId>{TokenId(5), TokenId(6), TokenId(7)}));
  EXPECT_FLOAT_EQ(options.sampling.repeat_penalty, 1.2F);
  EXPECT_EQ(options.sampling.top_k, 40U);
  EXPECT_EQ(options.sampling.seed, static_cast<uint64_t>(-7));
  EXPECT_THAT(options.stops, ElementsAre("a", "b"));
  EXPECT_EQ(options.max_tokens, 5U);
  EXPECT_EQ(options.min_tokens, 2U);
  EXPECT_EQ(options.top_logprobs, 0U);
  EXPECT_TRUE(options.ignore_eos && options.stream && options.include_usage && request->echo);
}

TEST(ParseRequest, ALogitBiasComesInTwoForms) {
  const std::vector<LogitBias> expected = {
      {TokenId(7), 2.5F}, {TokenId(15), -100}, {TokenId(999), 100}};
  for (const char* change : {R"({"logit_bias":{"15":-100,"7":2.5,"999":100}})",
                             R"({"logit_bias":[[15,-100],[7,2.5],[999,100]]})"}) {
    const auto request = Completion(change);
    ASSERT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->options.sampling.logit_bias, expected) << change;
    EXPECT_EQ(Chat(change)->options.sampling.logit_bias, expected) << change;
  }
  for (const char* change : {R"({"logit_bias":{"5":false}})", R"({"logit_bias":[[5,false]]})"}) {
    const auto bias = Completion(change)->options.sampling.logit_bias;
    ASSERT_EQ(bias.size(), 1U);
    EXPECT_EQ(bias[0].bias, -std::numeric_limits<float>::infinity());
  }
  EXPECT_TRUE(Completion(R"({"logit_bias":{}})")->options.sampling.logit_bias.empty());
  EXPECT_TRUE(Completion(R"({"logit_bias":[]})")->options.sampling.logit_bias.empty());
  Json many = Json::array();
  for (int i = 0; i < 4097; ++i) many.push_back(Json::array({i % 1000, 1}));
  const auto request = Completion(Json{{"logit_bias", many}}.dump());
  ASSERT_FALSE(request);
  EXPECT_THAT(request.error().message, HasSubstr("at most 4096"));
}

TEST(ParseRequest, SeveralChoicesUpToSixteen) {
  EXPECT_EQ(Completion("{}")->options.choices, 1U);
  EXPECT_EQ(Completion(R"({"n":16})")->options.choices, 16U);
  EXPECT_EQ(Chat(R"({"n":2,"best_of":2})")->options.choices, 2U);
  EXPECT_FALSE(Completion("{}")->options.is_seeded);
  EXPECT_FALSE(Completion(R"({"seed":-1})")->options.is_seeded);
  EXPECT_TRUE(Completion(R"({"seed":-2})")->options.is_seeded);
  EXPECT_TRUE(Completion(R"({"seed":0})")->options.is_seeded);
}

TEST(ParseCompletionRequest, SeveralPromptsOfEitherKindUpTo64Answers) {
  const auto request = Completion(R"({"prompt":["a",[5,6],""]})");
  ASSERT_TRUE(request) << request.error().message;
  ASSERT_EQ(request->prompts.size(), 3U);
  EXPECT_EQ(std::get<std::string>(request->prompts[0]), "a");
  EXPECT_EQ(std::get<std::vector<TokenId>>(request->prompts[1]),
            (std::vector<TokenId>{TokenId(5), TokenId(6)}));
  const Json prompts(std::vector<std::string>(16, "a"));
  EXPECT_TRUE(Completion(Json{{"prompt", prompts}, {"n", 4}}.dump()));
  const auto refused = Completion(Json{{"prompt", prompts}, {"n", 5}}.dump());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "prompt");
  EXPECT_THAT(refused.error().message, HasSubstr("80 answers"));
}

TEST(ParseRequest, ACacheSaltIsAnyTextOfUpTo256Bytes) {
  EXPECT_EQ(Completion(R"({"cache_salt":null})")->options.cache_salt, "");
  for (const std::string& salt : {std::string("a"), std::string("t\xC3\xA9nant \xC2\xA0 #1"),
                                  std::string(256, 'a'), std::string("\xF0\x9F\x8C\x8A")}) {
    const std::string change = Json{{"cache_salt", salt}}.dump();
    EXPECT_EQ(Completion(change)->options.cache_salt, salt);
    EXPECT_EQ(Chat(change)->options.cache_salt, salt);
  }
}

TEST(ParseChatRequest, BringsMessagesIntoOneForm) {
  const auto request = Chat(R"({"messages":[
      {"role":"developer","content":"d","x":1},
      {"role":"user","content":[{"type":"text","text":"one "},{"type":"text","text":"two"}]},
      {"role":"assistant","content":null,"tool_calls":[
          {"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
      {"role":"tool","content":"r","tool_call_id":"c"}]})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->messages, Json::parse(R"([
      {"role":"system","content":"d"},
      {"role":"user","content":"one two"},
      {"role":"assistant","content":"","tool_calls":[
          {"id":"c","type":"function","function":{"name":"f","arguments":{"a":1}}}]},
      {"role":"tool","content":"r","tool_call_id":"c"}])"));
}

TEST(ParseChatRequest, TemplateVariablesArePassedOn) {
  const auto request =
      Chat(R"({"chat_template_kwargs":{"enable_thinking":false},"reasoning_effort":"low"})");
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->template_extra,
            Json::parse(R"({"enable_thinking":false,"reasoning_effort":"low"})"));
}

}  // namespace
}  // namespace weir
