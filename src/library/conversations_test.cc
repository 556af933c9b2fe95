// Random conversations of a toy engine on the library, under memory pressure: every result is that
// of a cold run, and tiles add up.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/seed.h"
#include "support/toy_engine.h"
#include "weir/sequence.h"

namespace weir::kv {
namespace {

using test::ColdRun;
using test::ToyModel;
using test::ToyRun;

constexpr uint32_t kMaxChunk = 200;

class Traffic {
 public:
  explicit Traffic(uint64_t seed)
      : random_(seed),
        model_(RandomModel()),
        pools_(*Pools::Create(model_.Layout(), RandomBudget(), kMaxChunk)),
        cache_(*PrefixCache::Create(pools_, RandomOptions())) {}

  void Event() {
    switch (Draw(12)) {
      case 0:
        cache_.MakeRoom({.full = Draw(4), .window = Draw(12)});
        break;
      case 1:
        pins_.push_back(cache_.PinPrefix("x", SomeText()));
        break;
      case 2:
        pins_.clear();
        break;
      case 3:
        if (Draw(20) == 0) cache_.Flush();
        break;
      case 4:
      case 5:
        BeginRun();
        break;
      default:
        Advance();
        break;
    }
    CheckCounts();
  }

  void End() {
    runs_.clear();
    pins_.clear();
    EXPECT_EQ(cache_.stats().pins, 0U);
    cache_.Flush();
    EXPECT_EQ(pools_.stats().full.used_tiles, 0U);
    EXPECT_EQ(pools_.stats().window.used_tiles, 0U);
    EXPECT_GT(compared_, 0U);
  }

 private:
  struct Run {
    ToyRun run;
    uint32_t exact_from = 0;  // results before are a replay's
  };

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  ToyModel RandomModel() {
    ToyModel model{.window = 1 + Draw(300), .layers = {}};
    uint32_t counts[2] = {};
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t group = i == 0 ? 0 : i == 1 ? 1 : Draw(2);
      model.layers.push_back({group == 0 ? Group::kFull : Group::kWindow, counts[group]++});
    }
    std::ranges::reverse(model.layers);
    for (Layer& layer : model.layers) {  // indices ascend from the bottom
      layer.index = counts[layer.group == Group::kFull ? 0 : 1] - 1 - layer.index;
    }
    return model;
  }

  Budget RandomBudget() {
    const Layout layout = model_.Layout();
    return {.full_bytes = (8 + Draw(20)) * layout.full->tile_bytes(),
            .window_bytes = (8 + Draw(20)) * layout.window->tile_bytes()};
  }

  PrefixOptions RandomOptions() {
    PrefixOptions options{.fingerprint = "toy", .checkpoint_tokens = Draw(2) * (64 + Draw(300))};
    if (Draw(3) > 0) options.layers = model_.layers;
    return options;
  }

  // Texts share beginnings: a prefix of an earlier one, and something of its own.
  std::vector<Token> SomeText() {
    std::vector<Token> text;
    if (!texts_.empty() && Draw(5) > 0) {
      text = texts_[Draw(static_cast<uint32_t>(texts_.size()))];
      if (Draw(2) == 0) text.resize(1 + Draw(static_cast<uint32_t>(text.size())));
    }
    const uint32_t more = 1 + Draw(Draw(2) == 0 ? 10 : 300);
    for (uint32_t i = 0; i < more; ++i) text.push_back(static_cast<Token>(Draw(3)));
    if (text.size() > 900) text.resize(1 + Draw(900));
    return text;
  }

  void BeginRun() {
    if (runs_.size() == 3) return;
    const std::vector<Token> prompt = SomeText();
    std::vector<uint32_t> starts;
    if (Draw(2) == 0) starts.push_back(Draw(static_cast<uint32_t>(prompt.size())));
    auto sequence =
        Sequence::Begin(cache_, {.name_space = "x", .prompt = prompt, .message_starts = starts});
    ASSERT_TRUE(sequence);
    const Sources& sources = sequence->sources();
    ASSERT_EQ(sources.reused + sources.replayed + sources.computed, prompt.size());
    ASSERT_GT(sources.computed, 0U);
    const uint32_t exact_from = sources.reused + sources.replayed;
    runs_.push_back({ToyRun(model_, *std::move(sequence), prompt), exact_from});
  }

  void Advance() {
    if (runs_.empty()) return;
    const auto at = runs_.begin() + Draw(static_cast<uint32_t>(runs_.size()));
    ToyRun& run = at->run;
    if (run.is_done()) run.Append(static_cast<Token>(Draw(3)));
    const uint32_t count = Draw(3) == 0 ? 1 : 1 + Draw(kMaxChunk);
    const uint32_t fate = Draw(16);  // 0: ends here, cancelled or done; 1: a chunk is dropped
    if (fate == 1) {
      run.StepAndDrop(count, Draw(5));
      if (Draw(2) == 0) run.sequence().Finish();
      runs_.erase(at);
      return;
    }
    const uint32_t begin = run.sequence().token_count();
    const auto states = run.Step(count);
    if (states) Compare(*at, begin, *states);
    if (states && fate > 0) return;
    run.sequence().Finish();  // also when there was no room
    texts_.push_back(run.tokens());
    if (texts_.size() > 8) texts_.erase(texts_.begin());
    runs_.erase(at);
  }

  void Compare(const Run& run, uint32_t begin, const std::vector<uint64_t>& states) {
    const std::vector<Token>& tokens = run.run.tokens();
    const std::vector<uint64_t> cold =
        ColdRun(model_, std::span(tokens).first(begin + states.size()));
    for (uint32_t i = 0; i < states.size(); ++i) {
      if (begin + i < run.exact_from) continue;
      ASSERT_EQ(states[i], cold[begin + i]) << "position " << begin + i << " of " << tokens.size();
      ++compared_;
    }
  }

  void CheckCounts() {
    const PoolsStats stats = pools_.stats();
    ASSERT_LE(stats.full.used_tiles, stats.full.tiles);
    ASSERT_LE(stats.window.used_tiles, stats.window.tiles);
    if (!runs_.empty() || !pins_.empty()) return;
    // A tail and what continues it may share tiles; else each node has its own.
    const PrefixStats prefixes = cache_.stats();
    ASSERT_LE(stats.full.used_tiles, prefixes.nodes);
    ASSERT_GE(stats.full.used_tiles, prefixes.nodes - prefixes.tails);
    ASSERT_LE(stats.window.used_tiles, prefixes.nodes - prefixes.tombstones);
  }

  std::mt19937_64 random_;
  ToyModel model_;
  Pools pools_;
  PrefixCache cache_;
  std::vector<std::vector<Token>> texts_;
  std::vector<Run> runs_;
  std::vector<Pin> pins_;
  uint64_t compared_ = 0;
};

TEST(Library, RandomConversationsGiveTheResultsOfColdRuns) {
  WEIR_TRACE_SEED();
  for (uint64_t i = 0; i < 8 && !testing::Test::HasFatalFailure(); ++i) {
    Traffic traffic(test::Seed() + i);
    for (int event = 0; event < 250 && !testing::Test::HasFatalFailure(); ++event) traffic.Event();
    traffic.End();
  }
}

}  // namespace
}  // namespace weir::kv
