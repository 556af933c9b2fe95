// A fake model and a recording client for tests of the engine.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <vector>

#include "engine/engine.h"

namespace weir {

inline constexpr uint32_t kVocab = 32;
inline constexpr int32_t kEnd = 31;

// One full layer and one window layer of W = 100, small rows.
inline KvLayout TestLayout() {
  const KvGroup full{.layer_count = 1, .kv_heads = 1, .k_dim = 8, .v_dim = 8};
  KvGroup window = full;
  window.window = 100;
  return {.full = full, .window = window};
}

inline constexpr uint32_t kMostSequences = 16;  // EngineOptions' default

// A sequence needs 2 window tiles.
inline std::unique_ptr<KvCache> MakeCache(uint32_t full_tiles, uint32_t chunk_tokens,
                                          uint32_t window_tiles = 3) {
  const KvLayout layout = TestLayout();
  const KvBudget budget{.full_bytes = full_tiles * layout.full->tile_bytes(),
                        .window_bytes = window_tiles * layout.window->tile_bytes()};
  return std::make_unique<KvCache>(layout, budget, chunk_tokens, kMostSequences);
}

// A language where the likeliest token after position n is (3 n + the token there) mod 31, so that
// an answer proves which positions were computed. It never ends by itself, unless told where.
class FakeModel {
 public:
  std::function<void(const ForwardSegment&)> before_step = [](const ForwardSegment&) {};  // each
  uint32_t end_after_position = 0;  // 0: never

  ForwardFunction function() {
    return [this](std::span<const ForwardSegment> segments) { return Forward(segments); };
  }

  static int32_t Next(uint32_t position, int32_t token) {
    return static_cast<int32_t>((3 * position + static_cast<uint32_t>(token)) % 31);
  }

 private:
  std::span<const float> Forward(std::span<const ForwardSegment> segments) {
    logits_.clear();
    for (const ForwardSegment& segment : segments) Forward(segment);
    return logits_;
  }

  void Forward(const ForwardSegment& segment) {
    before_step(segment);
    const std::vector<float> row(8, 1.0F);
    for (const KvGroupKind group : {KvGroupKind::kFull, KvGroupKind::kWindow}) {
      for (uint32_t p = segment.chunk->begin(); p < segment.chunk->end(); ++p) {
        segment.chunk->Write({group, 0}, p, row, row);
      }
      segment.chunk->EndLayer({group, 0});
    }
    if (segment.logits == LogitsWanted::kNone) return;
    const size_t first = segment.logits == LogitsWanted::kAll ? 0 : segment.tokens.size() - 1;
    for (size_t i = first; i < segment.tokens.size(); ++i) {
      const auto position = static_cast<uint32_t>(segment.chunk->begin() + i);
      const auto next = static_cast<size_t>(Next(position, segment.tokens[i].value()));
      logits_.resize(logits_.size() + kVocab, 0.0F);
      float* logits = logits_.data() + logits_.size() - kVocab;
      logits[next] = 5.0F;
      if (end_after_position > 0 && position >= end_after_position) logits[kEnd] = 6.0F;
    }
  }

  std::vector<float> logits_;
};

// What a client would have seen. Fails the test on any event after the last.
class Recorder {
 public:
  EventSink sink() {
    return [this](GenerationEvent event) {
      const std::lock_guard lock(mutex_);
      EXPECT_FALSE(last_) << "event after the last";
      if (auto* prompt = std::get_if<PromptEvent>(&event)) {
        EXPECT_TRUE(tokens_.empty()) << "prompt event after a token";
        prompts_.push_back(std::move(*prompt));
      } else if (auto* token = std::get_if<TokenEvent>(&event)) {
        EXPECT_EQ(prompts_.size(), 1U);
        tokens_.push_back(token->sampled.token.value());
      } else {
        last_ = std::move(event);
        ended_.notify_all();
      }
    };
  }

  // Blocks until the last event.
  GenerationEvent Last() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return last_.has_value(); });
    return *last_;
  }
  FinishReason Reason() {
    const GenerationEvent last = Last();
    if (const auto* error = std::get_if<Error>(&last)) ADD_FAILURE() << error->message;
    return std::get<FinishEvent>(last).reason;
  }
  std::vector<int32_t> Tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }
  std::vector<PromptEvent> Prompts() {
    const std::lock_guard lock(mutex_);
    return prompts_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<PromptEvent> prompts_;
  std::vector<int32_t> tokens_;
  std::optional<GenerationEvent> last_;
};

inline GenerationRequest Request(uint32_t prompt_tokens, uint64_t max_tokens) {
  GenerationRequest request;
  for (uint32_t i = 0; i < prompt_tokens; ++i) {
    request.prompt.push_back(TokenId(static_cast<int32_t>(i % 30)));
  }
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.end_tokens = {TokenId(kEnd)};
  return request;
}

inline std::vector<int32_t> ExpectedAnswer(uint32_t prompt_tokens, size_t count) {
  std::vector<int32_t> answer;
  auto token = static_cast<int32_t>((prompt_tokens - 1) % 30);
  for (uint32_t position = prompt_tokens - 1; answer.size() < count; ++position) {
    token = FakeModel::Next(position, token);
    answer.push_back(token);
  }
  return answer;
}

// A model whose steps wait at a gate, so that a test decides what happens between them.
struct GatedModel : FakeModel {
  std::counting_semaphore<> arrived{0}, may_pass{0};
  std::atomic<uint32_t> steps{0};
  GatedModel() {
    before_step = [this](const ForwardSegment&) {
      ++steps;
      arrived.release();
      may_pass.acquire();
    };
  }
  void OpenForGood() { may_pass.release(1'000'000); }
};

inline CacheReport Describe(Engine& engine) {
  std::promise<CacheReport> report;
  engine.DescribeCache([&](CacheReport got) { report.set_value(std::move(got)); });
  return report.get_future().get();
}

inline uint64_t Flush(Engine& engine) {
  std::promise<uint64_t> nodes;
  engine.FlushCache([&](uint64_t got) { nodes.set_value(got); });
  return nodes.get_future().get();
}

inline void ExpectNoRequests(const Engine& engine) {
  EXPECT_EQ(engine.stats().running, 0U);
  EXPECT_EQ(engine.stats().waiting, 0U);
  EXPECT_EQ(engine.stats().full_bytes_reserved, 0U);
}

// All that is left in the pools belongs to the prefix cache, and nothing pins it.
inline void ExpectIdle(Engine& engine) {
  ExpectNoRequests(engine);
  EXPECT_EQ(Describe(engine).trie.pinned, 0U);
  Flush(engine);
  for (const PoolReport& pool : Describe(engine).pools) EXPECT_EQ(pool.tiles_used, 0U) << pool.name;
  EXPECT_EQ(engine.stats().full_bytes_used, 0U);
  EXPECT_EQ(engine.stats().window_bytes_used, 0U);
}

}  // namespace weir
