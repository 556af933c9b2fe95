// Conversations that go on in turns, with memory for a few of them: what is found again, against
// what somebody would find who knows the future.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "kv/window_plan.h"
#include "prefix/cached_sequence.h"
#include "support/prefix_kv.h"
#include "support/seed.h"

namespace weir {
namespace {

using test::PrefixKv;

constexpr uint32_t kChunk = 512;
const ReuseRules kFullRules{.layers = {{KvGroupKind::kFull, 0}}};
// A replay of one window layer is short; in real models it is longer than these conversations.
const ReuseRules kWindowRules{.layers = {{KvGroupKind::kFull, 0}, {KvGroupKind::kWindow, 0}},
                              .allow_replay = false};

struct Shape {
  uint32_t conversations = 8;
  uint32_t first_tokens = 3000;
  uint32_t turn_tokens = 40;
  uint32_t answer_tokens = 24;
  uint32_t rounds = 40;
  uint32_t full_tiles = 3 * 32;
  uint32_t window = 0;  // 0: no window layers
  uint32_t window_tiles = 0;
  uint32_t message_tokens = 0;  // 0: one message
};

// Tokens of prompts, and those of them that were found.
struct Found {
  uint64_t prompt = 0;
  uint64_t hit = 0;
  Found& operator+=(const Found& other) {
    prompt += other.prompt;
    hit += other.hit;
    return *this;
  }
  [[nodiscard]] double rate() const {
    return static_cast<double>(hit) / static_cast<double>(prompt);
  }
};

TokenId TokenOf(uint32_t conversation, uint32_t position) {
  return TokenId(static_cast<int32_t>(conversation * 7919 + position));
}

uint32_t PromptCount(const Shape& shape, uint32_t round) {
  return shape.first_tokens + round * (shape.turn_tokens + shape.answer_tokens) + shape.turn_tokens;
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.conversations << " conversations, " << shape.full_tiles << " and "
             << shape.window_tiles << " tiles";
}

class Turns {
 public:
  explicit Turns(const Shape& shape)
      : shape_(shape),
        kv_({.full_tiles = shape.full_tiles,
             .window_tiles = shape.window_tiles,
             .window = shape.window,
             .max_chunk_tokens = kChunk}),
        trie_(kv_.cache(), {.secret = Secret(), .fingerprint = "model"}) {}

  Found Round(uint32_t round) {
    Found found;
    for (uint32_t c = 0; c < shape_.conversations; ++c) {
      const uint32_t prompt_count = PromptCount(shape_, round);
      found.prompt += prompt_count;
      found.hit += Ask(c, prompt_count);
    }
    return found;
  }

 private:
  // Returns the tokens that were found.
  uint32_t Ask(uint32_t conversation, uint32_t prompt_count) {
    std::vector<TokenId> prompt;
    for (uint32_t i = 0; i < prompt_count; ++i) prompt.push_back(TokenOf(conversation, i));
    std::vector<uint32_t> message_starts;
    if (shape_.message_tokens > 0) {
      for (uint32_t i = 10; i < prompt_count; i += shape_.message_tokens)
        message_starts.push_back(i);
    }
    CachedSequence sequence(trie_, kv_.cache(), rules(), "");
    const uint32_t hit = sequence.Start(prompt, message_starts).position;
    for (uint32_t left = prompt_count - hit; left > 0;
         left = prompt_count - sequence.token_count()) {
      Advance(sequence, std::min(left, kChunk));
    }
    for (uint32_t i = 0; i < shape_.answer_tokens; ++i) {
      sequence.Append(TokenOf(conversation, prompt_count + i));
      Advance(sequence, 1);
    }
    sequence.Finish();
    return hit;
  }

  // It decides which tiles are in the sample.
  static std::vector<std::byte> Secret() {
    std::mt19937_64 random(test::Seed());
    std::vector<std::byte> secret(192);
    for (std::byte& byte : secret) byte = static_cast<std::byte>(random());
    return secret;
  }

  [[nodiscard]] const ReuseRules& rules() const {
    return shape_.window > 0 ? kWindowRules : kFullRules;
  }

  void Advance(CachedSequence& sequence, uint32_t count) {
    auto chunk = sequence.BeginChunk(count);
    ASSERT_TRUE(chunk.has_value()) << chunk.error().message;
    for (const KvLayer layer : rules().layers) {
      (void)chunk->Tiles(layer);
      chunk->EndLayer(layer);
    }
    sequence.Commit(std::move(*chunk));
  }

  const Shape shape_;
  PrefixKv kv_;
  PrefixTrie trie_;
};

// Each conversation keeps its beginning. What a request needs comes from the end of the one whose
// turn is last: that is the one before.
class Belady {
 public:
  explicit Belady(const Shape& shape) : shape_(shape), kept_(shape.conversations, 0) {}

  Found Round(uint32_t round) {
    Found found;
    for (uint32_t c = 0; c < shape_.conversations; ++c) {
      const uint32_t prompt_count = PromptCount(shape_, round);
      found.prompt += prompt_count;
      found.hit += std::min(kept_[c] * 128, prompt_count - 1);
      kept_[c] = (prompt_count + shape_.answer_tokens + 127) / 128;
      GiveWay(c);
    }
    return found;
  }

 private:
  void GiveWay(uint32_t running) {
    uint32_t total = 0;
    for (const uint32_t count : kept_) total += count;
    uint32_t victim = running;
    while (total > shape_.full_tiles) {
      victim = (victim + shape_.conversations - 1) % shape_.conversations;
      const uint32_t gone = std::min(kept_[victim], total - shape_.full_tiles);
      kept_[victim] -= gone;
      total -= gone;
    }
  }
  const Shape shape_;
  std::vector<uint32_t> kept_;  // tiles
};

class ConversationsInTurns : public ::testing::TestWithParam<Shape> {};

INSTANTIATE_TEST_SUITE_P(Shapes, ConversationsInTurns,
                         ::testing::Values(Shape{},
                                           Shape{.conversations = 12, .full_tiles = 5 * 30},
                                           Shape{.conversations = 5, .full_tiles = 2 * 32},
                                           Shape{.turn_tokens = 300, .rounds = 20},
                                           Shape{.first_tokens = 12000, .full_tiles = 3 * 105}));

// By last use alone they would find nothing: each is gone when its turn comes.
TEST_P(ConversationsInTurns, FindNearlyAllThatMemoryForAFewCanKeep) {
  WEIR_TRACE_SEED();
  const Shape shape = GetParam();
  Turns turns(shape);
  Belady belady(shape);
  Found found;
  Found best;
  for (uint32_t round = 0; round < shape.rounds; ++round) {
    found += turns.Round(round);
    best += belady.Round(round);
  }
  RecordProperty("found", std::to_string(found.rate()));
  RecordProperty("best", std::to_string(best.rate()));
  EXPECT_GE(found.rate(), 0.9 * best.rate());
  EXPECT_LE(found.rate(), 1.01 * best.rate());  // tails are kept besides whole tiles
}

// Conversations are kept whole, full tiles and window, or not at all: what somebody would find who
// gives up the one whose turn is last, that is the one before.
class WholeBelady {
 public:
  explicit WholeBelady(const Shape& shape) : shape_(shape) {}

  Found Round(uint32_t round) {
    Found found;
    for (uint32_t c = 0; c < shape_.conversations; ++c) {
      const uint32_t prompt_count = PromptCount(shape_, round);
      found.prompt += prompt_count;
      const auto kept = std::ranges::find(kept_, c, &Kept::conversation);
      if (kept != kept_.end()) {
        found.hit += prompt_count - shape_.turn_tokens;
        kept_.erase(kept);
      }
      const uint32_t end = prompt_count + shape_.answer_tokens;
      const TileRange window = LiveWindowTiles(shape_.window, end);
      kept_.push_back({c, (end + 127) / 128, window.count()});
      while (!Fit()) kept_.erase(kept_.end() - 2);
    }
    return found;
  }

 private:
  struct Kept {
    uint32_t conversation = 0;
    uint32_t full = 0;
    uint32_t window = 0;
  };
  [[nodiscard]] bool Fit() const {
    uint32_t full = 0;
    uint32_t window = 0;
    for (const Kept& kept : kept_) {
      full += kept.full;
      window += kept.window;
    }
    return full <= shape_.full_tiles && window <= shape_.window_tiles;
  }
  const Shape shape_;
  std::vector<Kept> kept_;  // the one that runs is the last
};

class WindowedConversationsInTurns : public ::testing::TestWithParam<Shape> {};

Shape Windowed(uint32_t full_tiles, uint32_t window_tiles, uint32_t first_tokens = 1500) {
  return {.first_tokens = first_tokens,
          .turn_tokens = 20,
          .answer_tokens = 12,
          .rounds = 24,
          .full_tiles = full_tiles,
          .window = 512,
          .window_tiles = window_tiles,
          .message_tokens = 125};
}

// Memory for three of eight in both pools, in one of them, and for a little more than that.
INSTANTIATE_TEST_SUITE_P(Shapes, WindowedConversationsInTurns,
                         ::testing::Values(Windowed(3 * 18, 3 * 5), Windowed(1000, 3 * 5),
                                           Windowed(3 * 18, 100), Windowed(3 * 18, 4 * 5),
                                           Windowed(4 * 18, 3 * 5), Windowed(3 * 53, 3 * 5, 6000)));

// Two pools that choose for themselves would each keep what the other gives up. Each conversation
// has points at its messages too, to which nobody comes back.
TEST_P(WindowedConversationsInTurns, AreKeptInBothPoolsOrInNeither) {
  WEIR_TRACE_SEED();
  const Shape shape = GetParam();
  Turns turns(shape);
  WholeBelady belady(shape);
  Found found;
  Found best;
  for (uint32_t round = 0; round < shape.rounds; ++round) {
    found += turns.Round(round);
    best += belady.Round(round);
  }
  RecordProperty("found", std::to_string(found.rate()));
  RecordProperty("best", std::to_string(best.rate()));
  EXPECT_GE(found.rate(), 0.9 * best.rate());
}

}  // namespace
}  // namespace weir
