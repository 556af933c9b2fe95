#include "engine/engine.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/generation.h"
#include "engine/request_queue.h"

namespace weir {

namespace {

uint64_t PoolBytes(const TilePool* pool) { return pool == nullptr ? 0 : pool->bytes(); }

}  // namespace

struct Engine::State {
  State(ForwardFunction forward_function, uint32_t vocab, std::unique_ptr<KvCache> kv_cache,
        const EngineOptions& engine_options)
      : forward(std::move(forward_function)),
        vocab_size(vocab),
        cache(std::move(kv_cache)),
        options(engine_options),
        trie(*cache, {.secret = {}, .fingerprint = options.cache_fingerprint}),
        rules{.layers = options.layers,
              .allow_replay = !options.layers.empty(),
              .checkpoint_tokens = CheckpointTokens(cache->layout())},
        queue(options.queue_capacity, stats.waiting),
        pacer(options.chunk_tokens, options.step_target) {
    WEIR_CHECK(options.context_tokens > 0 && options.chunk_tokens > 0);
    WEIR_CHECK(options.chunk_tokens <= cache->max_chunk_tokens());
    thread = std::thread([this] { Run(); });
  }

  // Prompt and answer of one request.
  [[nodiscard]] uint32_t MostTokens() const {
    return static_cast<uint32_t>(
        std::min<uint64_t>(options.context_tokens, cache->MaxSequenceTokens()));
  }
  [[nodiscard]] Result<void> CheckRequest(const GenerationRequest& request) const;
  void Run();
  void Serve(QueuedRequest queued);
  // The steps of one request; on return its tiles are free again.
  [[nodiscard]] GenerationEvent Generate(GenerationRequest request, const EventSink& sink);
  void ReportCancelled(const CancelledRequest& cancelled);
  [[nodiscard]] CacheReport Describe() const;
  void UpdateGauges();

  const ForwardFunction forward;
  const uint32_t vocab_size;
  const std::unique_ptr<KvCache> cache;
  const EngineOptions options;
  EngineStats stats;
  PrefixTrie trie;
  const ReuseRules rules;
  const Generation* running = nullptr;  // for reports
  RequestQueue queue;
  ChunkPacer pacer;
  std::thread thread;
  std::mutex join_mutex;
};

Result<void> Engine::State::CheckRequest(const GenerationRequest& request) const {
  WEIR_TRY(CheckSamplingParams(request.sampling));
  if (request.prompt.empty()) return Fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  for (const auto* tokens : {&request.prompt, &request.end_tokens}) {
    for (const TokenId token : *tokens) {
      if (token.value() >= 0 && static_cast<uint32_t>(token.value()) < vocab_size) continue;
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("token id {} is outside the vocabulary of {} tokens", token.value(),
                              vocab_size));
    }
  }
  const uint64_t answer_min = request.max_tokens > 0 ? 1 : 0;
  const uint64_t held = cache->MaxSequenceTokens();
  if (request.prompt.size() + answer_min > std::min<uint64_t>(held, options.context_tokens) &&
      held < options.context_tokens) {
    return Fail(
        ErrorCode::kInvalidArgument,
        fmt::format("the prompt has {} tokens, but the KV memory (full {}, window {} bytes) "
                    "holds {} for prompt and answer together; shorten the prompt or give "
                    "the server more KV memory",
                    request.prompt.size(), PoolBytes(cache->full_pool()),
                    PoolBytes(cache->window_pool()), held));
  }
  if (request.prompt.size() + answer_min > options.context_tokens) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the prompt has {} tokens, but prompt and answer together may have {} "
                            "(the context); shorten the prompt or raise the context",
                            request.prompt.size(), options.context_tokens));
  }
  return {};
}

void Engine::State::Run() {
  while (auto item = queue.Pop()) {
    if (auto* queued = std::get_if<QueuedRequest>(&*item)) {
      Serve(std::move(*queued));
    } else if (auto* task = std::get_if<RequestQueue::Task>(&*item)) {
      (*task)();
    } else {
      ReportCancelled(std::get<CancelledRequest>(*item));
    }
  }
}

void Engine::State::Serve(QueuedRequest queued) {
  stats.running = 1;
  GenerationEvent last = Generate(std::move(queued.request), queued.sink);
  queue.FinishRunning();
  if (const auto* finish = std::get_if<FinishEvent>(&last)) {
    ++(finish->reason == FinishReason::kStop     ? stats.finished_stop
       : finish->reason == FinishReason::kLength ? stats.finished_length
                                                 : stats.cancelled);
  } else {
    ++stats.failed;
  }
  UpdateGauges();
  stats.running = 0;
  queued.sink(std::move(last));
}

GenerationEvent Engine::State::Generate(GenerationRequest request, const EventSink& sink) {
  Generation generation({.forward = forward,
                         .cache = *cache,
                         .trie = trie,
                         .rules = rules,
                         .stats = stats,
                         .pacer = pacer},
                        MostTokens(), std::move(request), sink);
  running = &generation;
  Result<std::optional<FinishReason>> outcome = std::optional<FinishReason>();
  while (outcome && !*outcome) {
    while (const auto cancelled = queue.TryPopCancelled()) ReportCancelled(*cancelled);
    while (const auto task = queue.TryPopTask()) (*task)();
    if (queue.running_is_cancelled()) {
      outcome = std::optional(FinishReason::kCancelled);
    } else {
      outcome = generation.Step();
    }
    UpdateGauges();
  }
  running = nullptr;
  generation.Finish();
  if (!outcome) return std::move(outcome).error();
  return FinishEvent{.reason = **outcome, .at = std::chrono::steady_clock::now()};
}

void Engine::State::ReportCancelled(const CancelledRequest& cancelled) {
  ++stats.cancelled;
  UpdateGauges();
  cancelled.sink(
      FinishEvent{.reason = FinishReason::kCancelled, .at = std::chrono::steady_clock::now()});
}

CacheReport Engine::State::Describe() const {
  CacheReport report;
  const auto add = [&](std::string name, const TilePool* pool, uint32_t live) {
    if (pool == nullptr) return;
    report.pools.push_back({.name = std::move(name),
                            .tile_bytes = pool->group().tile_bytes(),
                            .tiles = pool->tile_count(),
                            .tiles_used = pool->used_count(),
                            .tiles_live = live});
  };
  const SequenceView* view = running != nullptr ? &running->view() : nullptr;
  add("full", cache->full_pool(), view != nullptr ? view->full_tile_count() : 0);
  add("window", cache->window_pool(), view != nullptr ? view->window_tile_count() : 0);
  add("owed", cache->owed_pool(), view != nullptr ? view->owed_tile_count() : 0);
  report.trie = trie.stats();
  constexpr size_t kMost = 100;
  for (const uint32_t tokens : trie.LeafEnds(kMost)) report.conversations.push_back({tokens});
  return report;
}

void Engine::State::UpdateGauges() {
  const auto used_bytes = [](const TilePool* pool) {
    return pool == nullptr ? 0 : pool->used_count() * pool->group().tile_bytes();
  };
  stats.full_bytes_used = used_bytes(cache->full_pool());
  stats.window_bytes_used = used_bytes(cache->window_pool());
}

Engine::Engine(ForwardFunction forward, uint32_t vocab_size, std::unique_ptr<KvCache> cache,
               const EngineOptions& options)
    : state_(std::make_unique<State>(std::move(forward), vocab_size, std::move(cache), options)) {}

Engine::~Engine() { Shutdown(std::chrono::milliseconds(0)); }

Result<RequestId> Engine::Submit(GenerationRequest request, EventSink sink) {
  auto checked = state_->CheckRequest(request);
  if (!checked) {
    ++state_->stats.refused;
    return tl::make_unexpected(std::move(checked).error());
  }
  auto id = state_->queue.Push(std::move(request), std::move(sink));
  if (!id) ++state_->stats.refused;
  return id;
}

void Engine::Cancel(RequestId id) { state_->queue.Cancel(id); }

void Engine::Shutdown(std::chrono::milliseconds grace) {
  state_->queue.Close();
  if (!state_->queue.WaitDrained(grace)) state_->queue.CancelAll();
  const std::lock_guard lock(state_->join_mutex);
  if (state_->thread.joinable()) state_->thread.join();
}

void Engine::DescribeCache(std::function<void(CacheReport)> done) {
  state_->queue.PushTask(
      [state = state_.get(), done = std::move(done)] { done(state->Describe()); });
}

void Engine::FlushCache(std::function<void(uint64_t)> done) {
  state_->queue.PushTask([state = state_.get(), done = std::move(done)] {
    done(state->trie.Flush());
    state->UpdateGauges();
  });
}

const EngineStats& Engine::stats() const { return state_->stats; }
const EngineOptions& Engine::options() const { return state_->options; }
const KvCache& Engine::cache() const { return *state_->cache; }

}  // namespace weir
