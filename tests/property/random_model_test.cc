// The random models of the property tests: do their logits show what the tests are to find?
#include "support/random_model.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "property/toy_model.h"

namespace weir::test {
namespace {

TokenId OtherToken(TokenId token) { return TokenId((token.value() + 7) % kRandomModelVocab); }

// Whether the last of `count` rows changes when the token `distance` before it does.
bool LastRowSees(ToyModel& model, uint32_t count, uint32_t distance, uint64_t seed) {
  std::vector<TokenId> tokens = RandomTokens(count, seed, model.vocab_size());
  const std::vector<float> before = model.ColdLogits(tokens);
  TokenId& changed = tokens[count - 1 - distance];
  changed = OtherToken(changed);
  const std::vector<float> after = model.ColdLogits(tokens);
  const size_t last = before.size() - model.vocab_size();
  return FirstDifferentRow(std::span(before).subspan(last), std::span(after).subspan(last),
                           model.vocab_size()) != -1;
}

TEST(RandomModel, OfWindowLayersSeesJustItsWindowsBack) {
  // Through L layers the farthest row that reaches position p is p - L (W - 1).
  for (const uint32_t window : {4U, 100U, 127U, 128U, 129U, 300U, 512U}) {
    for (const char* architecture : {"gemma3", "mimo2"}) {
      for (const char* layers : {"w", "www"}) {
        const std::string name = std::string(architecture) + " " + layers;
        const auto depth = static_cast<uint32_t>(std::string(layers).size());
        ToyModel model(
            {.architecture = architecture, .layers = layers, .window = window, .seed = window},
            nullptr);
        const uint32_t reach = depth * (window - 1);
        for (const uint64_t seed : {1, 2, 3}) {
          EXPECT_TRUE(LastRowSees(model, reach + 20, window - 1, seed)) << name << " " << window;
          EXPECT_TRUE(LastRowSees(model, reach + 20, reach, seed)) << name << " " << window;
          EXPECT_FALSE(LastRowSees(model, reach + 20, reach + 1, seed)) << name << " " << window;
        }
      }
    }
  }
}

TEST(RandomModel, OfFullLayersSeesEveryToken) {
  for (const char* architecture : {"gemma3", "llama"}) {
    ToyModel model({.architecture = architecture, .layers = "ff", .seed = 5}, nullptr);
    for (const uint32_t distance : {1U, 127U, 128U, 300U, 777U}) {
      EXPECT_TRUE(LastRowSees(model, 800, distance, distance)) << architecture << " " << distance;
    }
  }
}

TEST(RandomModel, HasTheGroupsThatWereAsked) {
  ToyModel model({.architecture = "mimo2",
                  .layers = "fwwfw",
                  .window = 129,
                  .q_heads = 6,
                  .kv_heads = 3,
                  .k_dim = 12,
                  .v_dim = 5},
                 nullptr);
  ASSERT_TRUE(model.layout().full && model.layout().window);
  EXPECT_EQ(model.layout().full->layer_count, 2U);
  EXPECT_EQ(model.layout().window->layer_count, 3U);
  EXPECT_EQ(model.layout().window->window, 129U);
  EXPECT_EQ(model.layout().window->kv_heads, 3U);
  EXPECT_EQ(model.layout().window->k_dim, 12U);
  EXPECT_EQ(model.layout().window->v_dim, 5U);
}

}  // namespace
}  // namespace weir::test
