// A loaded model: packed weights and one forward pass over a batch of segments.
//
// Ownership: borrows the ThreadPool; owns weights and scratch (no allocation on the token path once
// the largest batch was seen). Threads: Forward() from the engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kv/sequence_view.h"
#include "model/config.h"
#include "model/gguf.h"

namespace weir {

enum class LogitsWanted : uint8_t { kNone, kLast, kAll };

// Consecutive tokens of one sequence in a step. chunk->begin() is the first one's position.
struct ForwardSegment {
  KvChunk* chunk = nullptr;
  std::span<const TokenId> tokens;
  LogitsWanted logits = LogitsWanted::kLast;
};

class Model {
 public:
  using Progress = std::function<void(double fraction)>;
  // Checks shapes against the config, packs the weights and drops the file's pages.
  static Result<Model> Load(const GgufFile& file, ThreadPool& pool, const Progress& progress,
                            const ConfigOverrides& overrides = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  [[nodiscard]] const ModelConfig& config() const;
  [[nodiscard]] uint64_t weight_bytes() const;

  // Computes one step and returns the wanted logits rows [wanted rows, vocab_size] in segment
  // order; valid until the next call. Every row depends on its own sequence alone (bit for bit).
  // Requires tokens in range and chunks of tokens.size() positions; the caller commits the chunks.
  // kAll keeps vocab_size floats a token (1 MB with 262,144 tokens): give it short chunks.
  std::span<const float> Forward(std::span<const ForwardSegment> segments);

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
