// Compares with what Hugging Face transformers (Python's jinja2) made of the same input;
// tools/make_template_goldens.py wrote it down.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "support/join_prompt.h"
#include "text/chat_template.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::string GoldenPath(const std::string& name) {
  const char* other = std::getenv("WEIR_TEMPLATE_GOLDENS");  // made with --templates --out
  const std::string folder = other != nullptr ? other : WEIR_GOLDEN_DIR "/templates";
  return folder + "/" + name;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.good()) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json ReadJson(const std::string& path) { return Json::parse(ReadFile(path)); }

// The prompt, or the error's message.
struct Outcome {
  bool is_error = false;
  std::string text;
};

Outcome RenderSource(const std::string& source, const ChatInput& input) {
  const auto chat_template = ChatTemplate::Create(source);
  if (!chat_template) return {true, chat_template.error().message};
  const auto prompt = chat_template->Render(input);
  if (!prompt) return {true, prompt.error().message};
  return {false, JoinPrompt(*prompt)};
}

void ExpectAsPython(const Outcome& outcome, const Json& expected) {
  if (expected.contains("text")) {
    EXPECT_FALSE(outcome.is_error) << "Weir: " << outcome.text << "\nPython: " << expected["text"];
    if (!outcome.is_error) {
      EXPECT_EQ(outcome.text, expected["text"].get<std::string>());
    }
    return;
  }
  EXPECT_TRUE(outcome.is_error) << "Weir: " << outcome.text << "\nPython: " << expected;
  if (expected.contains("raises")) {
    EXPECT_EQ(outcome.text, expected["raises"].get<std::string>());
  }
}

TEST(ChatTemplateGolden, RealTemplatesRenderConversationsAsPythonDoes) {
  const Json tools = ReadJson(WEIR_GOLDEN_DIR "/templates/tools.json");
  std::map<std::string, Json> conversations;
  for (const Json& conversation : ReadJson(WEIR_GOLDEN_DIR "/templates/conversations.json")) {
    conversations[conversation["name"]] = conversation;
  }
  for (const Json& expected : ReadJson(GoldenPath("prompts.json"))) {
    const std::string name = expected["template"];
    const Json& conversation = conversations.at(expected["conversation"]);
    SCOPED_TRACE(name + ", " + conversation["name"].get<std::string>());
    const ChatInput input{.messages = conversation["messages"],
                          .tools = conversation.contains("tools")
                                       ? tools[conversation["tools"].get<std::string>()]
                                       : Json(),
                          .extra = conversation.value("extra", Json()),
                          .add_generation_prompt = expected["generation"],
                          .bos_text = "<BOS>",
                          .eos_text = "<EOS>",
                          .today = "29 Nov 2026"};
    ExpectAsPython(RenderSource(ReadFile(GoldenPath(name + ".jinja")), input), expected);
  }
}

TEST(ChatTemplateGolden, ExpressionsAndStatementsWorkAsInPython) {
  const Json golden = ReadJson(WEIR_GOLDEN_DIR "/templates/expressions.json");
  ChatInput input;
  input.messages = Json::array();
  input.extra = golden["variables"];
  input.today = "29 Nov 2026";
  ASSERT_GT(golden["cases"].size(), 200U);
  for (const Json& expected : golden["cases"]) {
    const std::string source = expected["source"];
    SCOPED_TRACE(source);
    ExpectAsPython(RenderSource(source, input), expected);
  }
}

}  // namespace
}  // namespace weir
