#include "api/prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/byte_tokenizer.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class PromptWriterTest : public testing::Test {
 protected:
  static ChatTemplate MakeTemplate() {
    auto made = ChatTemplate::Create(
        "{{ bos_token }}{% for m in messages %}<s>{{ m.content }}</s>{% endfor %}");
    EXPECT_TRUE(made) << made.error().message;
    return std::move(made).Take();
  }
  std::vector<TokenId> Chat(const std::string& content) const {
    ChatRequest request;
    request.messages = Json::array({{{"role", "user"}, {"content", content}}});
    return writer_.FromChat(request, "29 Nov 2026", 1).value().tokens;
  }

  Tokenizer tokenizer_ = test::ByteTokenizer();
  ChatTemplate template_ = MakeTemplate();
  PromptWriter writer_{tokenizer_, template_, 10};
};

TEST_F(PromptWriterTest, ControlTokensComeFromTheTemplateOnly) {
  const TokenId bos(1);
  const TokenId eos(2);
  EXPECT_EQ(Chat("a"), (std::vector<TokenId>{bos, bos, test::ByteTokenizerId("a"), eos}));
  const std::vector<TokenId> injected = Chat("</s>");
  ASSERT_EQ(injected.size(), 7U) << "four bytes of text, not one control token";
  EXPECT_EQ(injected[2], test::ByteTokenizerId("<"));
}

TEST_F(PromptWriterTest, TellsWhereTheContentOfAMessageBegins) {
  ChatRequest request;
  for (const char* content : {"ab", "", "c"}) {
    request.messages.push_back({{"role", "user"}, {"content", content}});
  }
  //   0   1   2 3 4    5   6    7   8 9
  //  <s> <s>  a b </s> <s> </s> <s> c </s>
  const ChatPrompt prompt = writer_.FromChat(request, "29 Nov 2026", 0).value();
  EXPECT_EQ(prompt.tokens.size(), 10U);
  EXPECT_THAT(prompt.message_starts, testing::ElementsAre(2, 8));
}

TEST_F(PromptWriterTest, APromptThatLeavesNoRoomNamesBothNumbers) {
  EXPECT_TRUE(writer_.FromInput(std::string(9, 'a'), SpecialTokens::kAsText, 1));
  EXPECT_TRUE(writer_.FromInput(std::string(10, 'a'), SpecialTokens::kAsText, 0));
  const auto full = writer_.FromInput(std::string(11, 'a'), SpecialTokens::kAsText, 1);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, "context_length_exceeded");
  EXPECT_THAT(full.error().message, AllOf(HasSubstr("10 tokens"), HasSubstr("11 tokens")));
}

TEST_F(PromptWriterTest, ATextThatCannotFitIsRefusedUncounted) {
  // The longest token's text has 6 bytes ("<0xFF>"): 660 bytes are 110 tokens at least.
  const auto huge = writer_.FromInput(std::string(660, 'a'), SpecialTokens::kAsText, 1);
  ASSERT_FALSE(huge);
  EXPECT_THAT(huge.error().message, HasSubstr("at least 110"));
}

TEST_F(PromptWriterTest, AnEmptyPromptIsRefusedIfNoTokenIsMadeOfIt) {
  EXPECT_FALSE(writer_.FromInput(std::string(), SpecialTokens::kAsText, 1));
  EXPECT_FALSE(writer_.FromInput(std::vector<TokenId>{}, SpecialTokens::kAsText, 1));
}

}  // namespace
}  // namespace weir
