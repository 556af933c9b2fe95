// Replay gives a cold run's bits, and not one row less would do.
#include "kv/replay.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "property/toy_model.h"
#include "support/lossy_codec.h"
#include "support/seed.h"

namespace weir::test {
namespace {

struct ReplayCase {
  const char* architecture;
  const char* layers;
  uint32_t window;
  const TileCodec* codec;
  uint32_t position;  // where decoding resumes
};

std::ostream& operator<<(std::ostream& out, const ReplayCase& test) {
  return out << test.architecture << " " << test.layers << ", window " << test.window << ", "
             << (test.codec != nullptr ? test.codec->name : "f16") << ", resumed at "
             << test.position;
}

const ReplayCase kCases[] = {
    {"gemma3", "wf", 100, nullptr, 640},     {"gemma3", "wwf", 128, nullptr, 700},
    {"gemma3", "fww", 129, nullptr, 513},    {"gemma3", "wfwwf", 130, nullptr, 1000},
    {"mimo2", "fwwf", 41, nullptr, 384},     {"mimo2", "fwf", 300, nullptr, 901},
    {"gemma3", "wwwwwf", 4, nullptr, 255},   {"gemma3", "ww", 256, nullptr, 700},
    {"gemma3", "f", 4, &kLossyR0, 700},      {"llama", "fff", 4, &kLossyR0, 700},
    {"llama", "ff", 4, &kLossyR1, 700},      {"gemma3", "wf", 100, &kLossyR0, 640},
    {"gemma3", "wf", 100, &kLossyR1, 640},   {"gemma3", "fwf", 130, &kLossyR0, 1100},
    {"mimo2", "fwfw", 129, &kLossyR1, 1290}, {"gemma3", "wfwf", 300, &kLossyR1, 1500},
};

class Replay : public ::testing::TestWithParam<ReplayCase> {
 protected:
  static constexpr uint32_t kAfter = 40;  // rows that are compared

  Replay()
      : model_({.architecture = GetParam().architecture,
                .layers = GetParam().layers,
                .window = GetParam().window,
                .seed = 11},
               GetParam().codec) {}

  // First row from `position` on that differs from a cold run after a replay from span.begin, or
  // -1. Only the full tiles are taken from the donor.
  int64_t FirstWrongRow(const ReplaySpan& span, std::span<const uint32_t> chunks, uint64_t seed) {
    const uint32_t position = GetParam().position;
    const uint32_t end = position + kAfter;
    const std::vector<TokenId> tokens = RandomTokens(end, seed, model_.vocab_size());
    const std::vector<float> cold = model_.ColdLogits(tokens);
    KvCache cache(model_.layout(), model_.Budget({.full = 64, .window = 64, .owed = 64}), 2048);
    PoisonFreeTiles(cache);
    PrefixTiles prefix{.position = position, .tiles = {}};
    {
      SequenceView donor(cache);
      model_.Run(donor, std::span(tokens).first(position));
      for (uint32_t tile = 0; tile * kTileTokens < position; ++tile) {
        NodeTiles tiles = donor.TilesAt(tile);
        prefix.tiles.push_back({.full = std::move(tiles.full), .window = {}, .owed = {}});
      }
    }
    PoisonFreeTiles(cache);
    SequenceView view(cache);
    EXPECT_TRUE(view.Adopt(std::move(prefix), span).has_value());
    EXPECT_EQ(view.token_count(), span.begin);
    std::vector<float> logits;
    for (uint32_t begin = span.begin, turn = 0; begin < end; ++turn) {
      const uint32_t count = std::min(chunks[turn % chunks.size()], end - begin);
      const auto rows = model_.Run(view, std::span(tokens).subspan(begin, count));
      logits.insert(logits.end(), rows.begin(), rows.end());
      begin += count;
    }
    const size_t columns = model_.vocab_size();
    return FirstDifferentRow(std::span(cold).subspan(position * columns),
                             std::span(logits).subspan((position - span.begin) * columns), columns);
  }

  [[nodiscard]] uint32_t Begin() const {
    return ReplayBegin(model_.layers(), model_.layout(), GetParam().position);
  }
  [[nodiscard]] ReplaySpan Bare(uint32_t begin) const {
    return {.begin = begin,
            .window_whole_from = GetParam().position,
            .owed_whole_from = GetParam().position};
  }

  ToyModel model_;
};

INSTANTIATE_TEST_SUITE_P(Toys, Replay, ::testing::ValuesIn(kCases));

TEST_P(Replay, GivesTheBitsOfAColdRunFromItsBeginOn) {
  ASSERT_GT(Begin(), 0U);  // else it is a cold run
  for (const uint64_t seed : {1, 2, 3}) {
    for (const std::vector<uint32_t>& chunks :
         std::vector<std::vector<uint32_t>>{{2048}, {128}, {77}, {200, 1, 3}}) {
      EXPECT_EQ(FirstWrongRow(Bare(Begin()), chunks, seed), -1) << "chunks of " << chunks.front();
    }
  }
}

TEST_P(Replay, OneRowLessGivesOtherBits) {
  const std::vector<uint32_t> chunks = {2048};
  for (const uint64_t seed : {1, 2, 3}) {
    EXPECT_EQ(FirstWrongRow(Bare(Begin() + 1), chunks, seed), 0);
  }
}

TEST_P(Replay, MakesWholeTilesForOthers) {
  // Another sequence resumes from the tiles that the replay has rebuilt.
  const uint32_t position = GetParam().position;
  const std::vector<TokenId> tokens = RandomTokens(position + kAfter, 7, model_.vocab_size());
  const std::vector<float> cold = model_.ColdLogits(tokens);
  const ReplaySpan span = PlanReplay(model_.layers(), model_.layout(), position);
  KvCache cache(model_.layout(), model_.Budget({.full = 64, .window = 64, .owed = 64}), 2048);
  PoisonFreeTiles(cache);
  SequenceView donor(cache);
  model_.Run(donor, std::span(tokens).first(position));
  const auto share = [&](const SequenceView& view, bool with_recent) {
    PrefixTiles prefix{.position = position, .tiles = {}};
    for (uint32_t tile = 0; tile * kTileTokens < position; ++tile) {
      NodeTiles tiles = view.TilesAt(tile);
      if (!with_recent) tiles = {.full = std::move(tiles.full), .window = {}, .owed = {}};
      prefix.tiles.push_back(std::move(tiles));
    }
    return prefix;
  };
  SequenceView replayed(cache);
  ASSERT_TRUE(replayed.Adopt(share(donor, false), span).has_value());
  model_.Run(replayed, std::span(tokens).subspan(span.begin, position - span.begin));
  SequenceView resumed(cache);
  ASSERT_TRUE(resumed.Adopt(share(replayed, true)).has_value());
  const auto logits = model_.Run(resumed, std::span(tokens).subspan(position));
  EXPECT_EQ(FirstDifferentRow(std::span(cold).subspan(size_t{position} * model_.vocab_size()),
                              logits, model_.vocab_size()),
            -1);
}

}  // namespace
}  // namespace weir::test
