// The engine thread: takes requests from a bounded queue, runs the step loop, and hands every token
// to the request's sink.
//
// Many requests run at once: a step is one forward pass over a decode row of each that answers and
// prefill chunks of those that are being read (step_loop.h). Cancels are seen between steps. What a
// request is answered does not depend on the others.
//
// Ownership: owns KvCache, samplers and the thread; borrows Model (which borrows the ThreadPool).
// Threads: Submit/Cancel/stats from any thread, also from a sink. Sinks are called on the engine
// thread, perhaps before Submit has returned; they must not block, throw or shut the engine down.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/atomic_histogram.h"
#include "base/ids.h"
#include "base/result.h"
#include "engine/cache_report.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/model.h"
#include "model/sampler.h"
#include "sched/length_buckets.h"
#include "sched/waiting_queue.h"

namespace weir {

using TimePoint = std::chrono::steady_clock::time_point;

struct GenerationRequest {
  std::vector<TokenId> prompt;  // at least one token, all in range (checked by Submit)
  SamplingParams sampling;
  uint64_t max_tokens = 0;  // cut to what the context leaves; 0: the prompt is read, no answer
  uint32_t min_tokens = 0;  // end tokens are banned before
  bool ignore_eos = false;  // end tokens are banned throughout
  std::vector<TokenId> end_tokens;
  std::optional<uint32_t> top_logprobs;  // set: log-probabilities, with so many alternatives
  bool prompt_logprobs = false;          // echo with logprobs
  std::string cache_namespace;           // requests of different ones share no cached tokens
  // Positions where an edit is likely to begin: contents of messages, ascending. Each becomes a
  // resume point while the prompt is computed.
  std::vector<uint32_t> message_starts;
};

enum class FinishReason : uint8_t { kStop, kLength, kCancelled };

// Where the prompt's tokens came from; sums to the prompt.
struct TokenSources {
  uint32_t computed = 0;
  uint32_t device = 0;
  uint32_t replayed = 0;
};

struct PromptEvent {  // once, when the prompt has been read; before the first token
  TokenSources sources;
  // What the prefix cache had: tokens whose full KV was there, and why fewer could be used.
  uint32_t full_length = 0;
  ResumeVeto veto = ResumeVeto::kNone;
  std::vector<SampledToken> logprobs;  // with prompt_logprobs: one a prompt token but the first
  TimePoint started_at;                // left the queue
  TimePoint at;
};
struct TokenEvent {  // one a token of the answer; the end token is none
  SampledToken sampled;
  TimePoint at;
};
struct FinishEvent {  // last, if no error came
  FinishReason reason = FinishReason::kStop;
  TimePoint at;
};
// An Error is the last event too. What was computed until then may stay, as cache.
using GenerationEvent = std::variant<PromptEvent, TokenEvent, FinishEvent, Error>;
using EventSink = std::function<void(GenerationEvent)>;

// As Model::Forward.
using ForwardFunction = std::function<std::span<const float>(std::span<const ForwardSegment>)>;

// By which length a waiting request is put in a bucket.
enum class BucketBy : uint8_t { kUncachedTokens, kPromptLength };

struct EngineOptions {
  uint32_t context_tokens = 0;   // prompt + answer of one request
  uint32_t chunk_tokens = 512;   // most prefill positions a step; the cache's scratch holds as many
  uint32_t max_sequences = 16;   // running at once; the cache's scratch is made for as many
  uint32_t queue_capacity = 64;  // waiting requests beyond the running ones
  // Prefill chunks shrink so that a step takes about this long and cancels stay quick. Results do
  // not depend on it: logits are the same for any chunking.
  std::chrono::milliseconds step_target{250};
  // What prefill adds at most, about, to a step in which others decode: their tokens come no
  // further apart.
  std::chrono::milliseconds max_step{100};
  QueuePolicy policy = QueuePolicy::kBuckets;
  LengthBuckets buckets = {};
  BucketBy bucket_by = BucketBy::kUncachedTokens;
  // A request that has waited so long to begin fails with kUnavailable. 0: it waits on.
  std::chrono::milliseconds queue_timeout{0};
  std::string cache_fingerprint = {};  // of the model and all that can change a bit of its KV
  // The model's layers from the bottom, for replay; Engine(Model&, ...) fills them in. None: no
  // replay.
  std::vector<KvLayer> layers = {};
  std::function<TimePoint()> now = std::chrono::steady_clock::now;  // tests have their own
};

// A consistent enough picture for metrics: single counters, each exact.
struct EngineStats {
  std::atomic<uint64_t> prompt_tokens{0};  // of prompts that were read to their end
  // Of these, by source. They sum to prompt_tokens.
  std::atomic<uint64_t> computed_tokens{0}, device_tokens{0}, replayed_tokens{0};
  // Prompt tokens whose full KV was there and could not be used, by what was missing.
  std::atomic<uint64_t> vetoed_window_tokens{0}, vetoed_owed_tokens{0};
  // How requests began, and the prefill time that this was estimated to save, in microseconds.
  std::atomic<uint64_t> began_cold{0}, began_at_resume_point{0}, began_with_replay{0};
  std::atomic<uint64_t> saved_us{0};
  std::atomic<uint64_t> generated_tokens{0};
  std::atomic<uint64_t> finished_stop{0}, finished_length{0}, cancelled{0}, failed{0};
  std::atomic<uint64_t> refused{0};    // by Submit, whatever the reason
  std::atomic<uint64_t> timed_out{0};  // of the failed ones: waited longer than queue_timeout
  std::atomic<uint32_t> running{0}, waiting{0};
  std::array<std::atomic<uint32_t>, LengthBuckets::kMostBuckets> waiting_by_bucket{};
  // Requests that gave their memory up to an older one and began again later, and the tokens that
  // were computed a second time for them.
  std::atomic<uint64_t> preemptions{0}, recomputed_tokens{0};
  // Requests that waited until another had computed a prefix that both have.
  std::atomic<uint64_t> early_shares{0};
  AtomicHistogram<10> step_seconds{{0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1}};
  AtomicHistogram<8> step_sequences{{1, 2, 4, 8, 16, 32, 64, 128}};
  std::atomic<uint64_t> full_bytes_used{0}, window_bytes_used{0};
  // Of the full pool, promised to running requests and not yet taken.
  std::atomic<uint64_t> full_bytes_reserved{0};
};

class Engine {
 public:
  // `cache` must hold chunks of options.chunk_tokens of options.max_sequences at a time;
  // options.context_tokens > 0.
  Engine(Model& model, std::unique_ptr<KvCache> cache, const EngineOptions& options);
  // The same over any forward pass (tests).
  Engine(ForwardFunction forward, uint32_t vocab_size, std::unique_ptr<KvCache> cache,
         const EngineOptions& options);
  ~Engine();  // Shutdown(0 s)
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // kInvalidArgument: empty prompt, token out of range, bad sampling parameter, or a prompt that
  // the context or the KV memory cannot hold with one answer token (none if max_tokens is 0; the
  // message holds both numbers). kResourceExhausted: queue full, or too many were cancelled within
  // this step. kUnavailable: shutting down. The sink is not called then.
  Result<RequestId> Submit(GenerationRequest request, EventSink sink);

  // Takes effect within one step, also for a waiting request, which then never runs; the sink gets
  // FinishEvent{kCancelled} unless it had its last event. Unknown ids are ignored.
  void Cancel(RequestId id);

  // Takes no more requests, lets the rest finish for at most `grace`, cancels what is left. No sink
  // is called after it has returned.
  void Shutdown(std::chrono::milliseconds grace);

  // Between two steps, on the engine thread: what the prefix cache holds; forgetting all of it
  // (`done` gets the number of tiles and tails). `done` must not block; it is not called if the
  // engine shuts down first.
  void DescribeCache(std::function<void(CacheReport)> done);
  void FlushCache(std::function<void(uint64_t)> done);

  [[nodiscard]] const EngineStats& stats() const;
  [[nodiscard]] const EngineOptions& options() const;
  [[nodiscard]] const KvCache& cache() const;  // its fixed properties; the rest is in stats()

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
