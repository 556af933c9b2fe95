// The engine thread: takes requests from a bounded inbox, runs the step loop, and hands every token
// to the request's sink.
//
// Requests are served one at a time, in order. A step is one prefill chunk or one decode row;
// cancels are seen between steps.
//
// Ownership: owns KvCache, samplers and the thread; borrows Model (which borrows the ThreadPool).
// Threads: Submit/Cancel/stats from any thread. Sinks are called on the engine thread and must not
// block; they hand over to their own executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "kv/kv_cache.h"
#include "model/model.h"
#include "model/sampler.h"

namespace weir {

struct GenerationRequest {
  std::vector<TokenId> prompt;  // at least one token, all in range (checked by Submit)
  SamplingParams sampling;
  uint64_t max_tokens = 0;  // cut to what the context leaves
  uint32_t min_tokens = 0;  // end tokens are banned before
  bool ignore_eos = false;
  std::vector<TokenId> end_tokens;
  std::optional<uint32_t> top_logprobs;  // set: log-probabilities, with so many alternatives
  bool prompt_logprobs = false;          // echo with logprobs
};

enum class FinishReason : uint8_t { kStop, kLength, kCancelled };

// Where the prompt's tokens came from; sums to the prompt.
struct TokenSources {
  uint32_t computed = 0;
  uint32_t device = 0;
  uint32_t replayed = 0;
};

struct PromptEvent {  // once, when the prompt has been read
  TokenSources sources;
  std::vector<SampledToken> logprobs;  // with prompt_logprobs: one a prompt token but the first
};
struct TokenEvent {
  SampledToken sampled;
};
struct FinishEvent {  // last, if no error came
  FinishReason reason = FinishReason::kStop;
};
using GenerationEvent = std::variant<PromptEvent, TokenEvent, FinishEvent, Error>;
using EventSink = std::function<void(GenerationEvent)>;

struct EngineOptions {
  uint32_t context_tokens = 0;   // prompt + answer of one request
  uint32_t chunk_tokens = 512;   // prefill positions a step
  uint32_t queue_capacity = 64;  // waiting requests beyond the running one
};

// A consistent enough picture for metrics: single counters, each exact.
struct EngineStats {
  std::atomic<uint64_t> prompt_tokens{0};
  std::atomic<uint64_t> computed_tokens{0};
  std::atomic<uint64_t> generated_tokens{0};
  std::atomic<uint64_t> finished_stop{0}, finished_length{0}, cancelled{0}, failed{0}, refused{0};
  std::atomic<uint32_t> running{0}, waiting{0};
  std::atomic<uint64_t> full_bytes_used{0}, window_bytes_used{0};
};

class Engine {
 public:
  Engine(Model& model, std::unique_ptr<KvCache> cache, const EngineOptions& options);
  ~Engine();  // Shutdown(0 s)

  // kInvalidArgument: empty prompt, token out of range, prompt over the context (the message holds
  // both numbers). kResourceExhausted: queue full. kUnavailable: shutting down.
  Result<RequestId> Submit(GenerationRequest request, EventSink sink);

  // Takes effect within one step; the sink gets FinishEvent{kCancelled} unless it had its last
  // event.
  void Cancel(RequestId id);

  // Takes no more requests, lets the rest finish for at most `grace`, cancels what is left.
  void Shutdown(std::chrono::milliseconds grace);

  [[nodiscard]] const EngineStats& stats() const;
  [[nodiscard]] const EngineOptions& options() const;
  [[nodiscard]] const KvCache& cache() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
