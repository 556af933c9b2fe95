#include "api/message_starts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "text/chat_template.h"

namespace weir {
namespace {

using testing::ElementsAre;

// The text of the parts in which messages begin.
std::vector<std::string> StartTexts(const ChatTemplate& chat_template, const Json& messages) {
  ChatInput input;
  input.messages = messages;
  const Prompt prompt = chat_template.Render(input).value();
  std::vector<std::string> out;
  for (const size_t part : FindMessageStarts(prompt, messages)) out.push_back(prompt[part].text);
  return out;
}

std::vector<std::string> StartTexts(const char* source, const Json& messages) {
  return StartTexts(ChatTemplate::Create(source).value(), messages);
}

Json Message(const char* role, const char* content) {
  return {{"role", role}, {"content", content}};
}

constexpr const char* kPlain =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";

TEST(MessageStarts, AreTheContentsNotTheRoles) {
  const Json messages = {Message("system", "Be brief."), Message("user", "Hi"),
                         Message("assistant", "Hello!"), Message("user", "user")};
  EXPECT_THAT(StartTexts(kPlain, messages), ElementsAre("Be brief.", "Hi", "Hello!", "user"));
}

TEST(MessageStarts, AreFoundInTheBuiltInTemplates) {
  const Json messages = {Message("system", " Be brief. "), Message("user", "Hi\n"),
                         Message("assistant", "Hello!"), Message("user", "Bye")};
  EXPECT_THAT(StartTexts(ChatTemplate::BuiltIn("gemma").value(), messages),
              ElementsAre("Be brief.", "Hi", "Hello!", "Bye"));
  EXPECT_THAT(StartTexts(ChatTemplate::BuiltIn("chatml").value(), messages),
              ElementsAre(" Be brief. ", "Hi\n", "Hello!", "Bye"));
  EXPECT_THAT(StartTexts(ChatTemplate::BuiltIn("transcript").value(), messages),
              ElementsAre("Be brief.", "Hi", "Hello!", "Bye"));
}

TEST(MessageStarts, ContentWithoutItsReasoningIsFoundByItsEnd) {
  const char* source = "{% for m in messages %}<>{{ m.content.split('</think>')[-1] }}{% endfor %}";
  const Json messages = {Message("user", "Why?"), Message("assistant", "<think>hm</think>So."),
                         Message("user", "Ah")};
  EXPECT_THAT(StartTexts(source, messages), ElementsAre("Why?", "So.", "Ah"));
}

TEST(MessageStarts, EmptyChangedAndMissingMessagesAreSkipped) {
  const char* source =
      "{% for m in messages %}<>{% if m.role == 'tool' %}{{ m.content | tojson }}"
      "{% elif m.role != 'system' %}{{ m.content }}{% endif %}{% endfor %}";
  const Json messages = {Message("system", "Left out"), Message("user", "One"),
                         Message("assistant", ""),      Message("tool", "a \"b\""),
                         Message("assistant", "  "),    Message("user", "Two")};
  EXPECT_THAT(StartTexts(source, messages), ElementsAre("One", "Two"));
}

TEST(MessageStarts, AContentThatJoinsOtherUserTextBeginsWithIt) {
  const char* source =
      "{% for m in messages %}<>{{ m.role }}{{ m.content }}{% endfor %}<>{{ messages[0].content }}";
  const Json messages = {Message("user", "One"), Message("user", "Two")};
  EXPECT_THAT(StartTexts(source, messages), ElementsAre("userOne", "userTwo"));
}

TEST(MessageStarts, ThereIsNoneWithoutUserText) {
  EXPECT_THAT(FindMessageStarts({{"<s>", true}}, Json::array({Message("user", "a")})),
              ElementsAre());
  EXPECT_THAT(FindMessageStarts({}, Json::array()), ElementsAre());
}

}  // namespace
}  // namespace weir
