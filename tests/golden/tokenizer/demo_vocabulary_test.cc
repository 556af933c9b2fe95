// The vocabularies of the two demo models, read from their GGUF files as the program reads them.
//
// Which tests exist depends on the environment, so that none is ever skipped: WEIR_DEMO_MODEL and
// WEIR_DEMO_CHAT_MODEL name the files. Named but unreadable is a failure; not named, the only test
// says so in its name.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "gguf_vocabulary.h"
#include "support/tokenizer_goldens.h"

namespace weir {
namespace {

class DemoVocabulary : public testing::Test {
 public:
  DemoVocabulary(std::string path, std::string goldens)
      : path_(std::move(path)), goldens_(std::move(goldens)) {}

  void TestBody() override {
    const auto file = GgufFile::OpenMetadata(path_);
    ASSERT_TRUE(file.has_value()) << file.error().message;
    auto vocabulary = ReadVocabulary(*file);
    ASSERT_TRUE(vocabulary.has_value()) << vocabulary.error().message;
    const auto tokenizer = Tokenizer::Create(std::move(*vocabulary));
    ASSERT_TRUE(tokenizer.has_value()) << tokenizer.error().message;
    const auto goldens =
        ReadGoldens(std::string(WEIR_GOLDEN_DIR) + "/tokenizer/" + goldens_ + ".json");
    ExpectGoldens(*tokenizer, goldens.at("cases"));
    ExpectMegabytesAreQuick(*tokenizer);
  }

 private:
  // Linear work takes well under a second each; the bound only tells it from quadratic, which would
  // take hours, on a slow and busy machine with sanitizers.
  static void ExpectMegabytesAreQuick(const Tokenizer& tokenizer) {
    for (const std::string part : {"a", " ", "1", ".", "<", "\n", "\xF0\x9F\x91\x8D", "<unused"}) {
      std::string text;
      while (text.size() < (1 << 20)) text += part;
      const auto start = std::chrono::steady_clock::now();
      const auto tokens = tokenizer.Encode(text, SpecialTokens::kParse, AddBos::kNo);
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << part;
      EXPECT_EQ(tokenizer.Decode(tokens, SpecialTokens::kParse), text) << part;
    }
  }

  std::string path_;
  std::string goldens_;
};

class WithoutModels : public testing::Test {
 public:
  void TestBody() override {
    EXPECT_EQ(std::getenv("WEIR_DEMO_MODEL"), nullptr);
    EXPECT_EQ(std::getenv("WEIR_DEMO_CHAT_MODEL"), nullptr);
  }
};

void Register(const char* variable, const char* test, const char* goldens, int line) {
  const char* path = std::getenv(variable);
  if (path == nullptr) return;
  testing::RegisterTest("DemoVocabulary", test, nullptr, nullptr, __FILE__, line,
                        [path = std::string(path), goldens]() -> testing::Test* {
                          return new DemoVocabulary(path, goldens);
                        });
}

const bool registered = [] {
  Register("WEIR_DEMO_MODEL", "Gemma3EncodesAsSentencePiece", "gemma3-270m", __LINE__);
  Register("WEIR_DEMO_CHAT_MODEL", "SmolLm2EncodesAsTokenizers", "smollm2-135m", __LINE__);
  if (std::getenv("WEIR_DEMO_MODEL") == nullptr && std::getenv("WEIR_DEMO_CHAT_MODEL") == nullptr) {
    testing::RegisterTest("DemoVocabulary", "NothingTestedAsTheEnvironmentNamesNoDemoModel",
                          nullptr, nullptr, __FILE__, __LINE__,
                          []() -> testing::Test* { return new WithoutModels; });
  }
  return true;
}();

}  // namespace
}  // namespace weir
