// The engine over real (tiny) models.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "support/engine_fakes.h"

namespace weir {
namespace {

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer&) const = default;
};

class ModelEngine {
 public:
  ModelEngine(const std::string& name, uint32_t threads, uint32_t chunk_tokens)
      : pool_(threads),
        file_(*GgufFile::Open(std::string(WEIR_GOLDEN_DIR) + "/models/" + name)),
        model_(*Model::Load(file_, pool_, [](double) {})) {
    const KvLayout layout = model_.config().Layout(KvFormat::kF16);
    const KvBudget budget = *SplitBudget(layout, 64 << 20, {});
    engine_ = std::make_unique<Engine>(
        model_, std::make_unique<KvCache>(layout, budget, chunk_tokens, 16),
        EngineOptions{.context_tokens = 700, .chunk_tokens = chunk_tokens});
  }

  struct Asked {
    Answer answer;
    Recorder recorder;
  };

  Answer Ask(uint32_t prompt_tokens, uint64_t seed) {
    Asked asked;
    Send(prompt_tokens, seed, asked);
    return Wait(asked);
  }

  void Send(uint32_t prompt_tokens, uint64_t seed, Asked& asked) {
    GenerationRequest request;
    for (uint32_t i = 0; i < prompt_tokens; ++i) {
      request.prompt.push_back(
          TokenId(static_cast<int32_t>((i * 31 + 7) % model_.config().vocab_size)));
    }
    request.sampling = {.temperature = 0.9F, .top_p = 0.95F, .repeat_penalty = 1.1F, .seed = seed};
    request.max_tokens = 30;
    request.top_logprobs = 2;
    const auto id =
        engine_->Submit(request, [&asked, sink = asked.recorder.sink()](GenerationEvent event) {
          if (const auto* token = std::get_if<TokenEvent>(&event)) {
            asked.answer.logprobs.push_back(token->sampled.logprob);
          }
          sink(std::move(event));
        });
    EXPECT_TRUE(id);
  }

  static Answer Wait(Asked& asked) {
    EXPECT_EQ(asked.recorder.Reason(), FinishReason::kLength);
    asked.answer.tokens = asked.recorder.Tokens();
    return asked.answer;
  }

 private:
  ThreadPool pool_;
  GgufFile file_;
  Model model_;
  std::unique_ptr<Engine> engine_;
};

class ModelEngineTest : public testing::TestWithParam<const char*> {};

TEST_P(ModelEngineTest, AnswersAreTheSameForAnyChunkThreadsAndNeighbours) {
  ModelEngine plain(GetParam(), 1, 512);
  const Answer expected = plain.Ask(300, 5);
  ASSERT_EQ(expected.tokens.size(), 30U);
  EXPECT_NE(plain.Ask(300, 6), expected);
  EXPECT_NE(plain.Ask(40, 5), expected);
  EXPECT_EQ(plain.Ask(300, 5), expected);
  ModelEngine other(GetParam(), 3, 37);
  EXPECT_EQ(other.Ask(300, 5), expected);
}

TEST_P(ModelEngineTest, ManyAtOnceAreAnsweredAsAlone) {
  constexpr std::array<uint32_t, 8> kPrompts = {300, 40, 600, 300, 5, 129, 450, 301};
  ModelEngine alone(GetParam(), 1, 512);
  std::vector<Answer> expected;
  for (const uint32_t prompt : kPrompts) expected.push_back(alone.Ask(prompt, prompt));
  ModelEngine together(GetParam(), 2, 64);
  std::array<ModelEngine::Asked, kPrompts.size()> asked;
  for (size_t i = 0; i < asked.size(); ++i) together.Send(kPrompts[i], kPrompts[i], asked[i]);
  for (size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(ModelEngine::Wait(asked[i]), expected[i]) << "request " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ModelEngineTest,
                         testing::Values("gemma3-w48-seed1.gguf", "llama-tied-seed2.gguf",
                                         "mimo2-w41-seed1.gguf"));

}  // namespace
}  // namespace weir
