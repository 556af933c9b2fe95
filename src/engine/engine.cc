#include "engine/engine.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "engine/request_queue.h"
#include "engine/step_loop.h"

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
        trie(*cache, {.secret = {},
                      .fingerprint = options.cache_fingerprint,
                      .replayable_from = ReplayableFrom(options.layers, cache->layout())}),
        rules{.layers = options.layers,
              .allow_replay = !options.layers.empty(),
              .checkpoint_tokens = CheckpointTokens(cache->layout())},
        queue(options.queue_capacity, stats.waiting),
        loop({.forward = forward,
              .cache = *cache,
              .trie = trie,
              .rules = rules,
              .options = options,
              .stats = stats,
              .queue = queue}) {
    WEIR_CHECK(options.context_tokens > 0 && options.chunk_tokens > 0);
    WEIR_CHECK(options.chunk_tokens <= cache->max_chunk_tokens());
    WEIR_CHECK(options.max_sequences > 0 && options.max_sequences <= cache->max_sequences());
    thread = std::thread([this] { Run(); });
  }

  [[nodiscard]] Result<void> CheckRequest(const GenerationRequest& request) const;
  void Run();
  void TellUntold(const std::vector<EventSink>& sinks);
  [[nodiscard]] CacheReport Describe() const;

  const ForwardFunction forward;
  const uint32_t vocab_size;
  const std::unique_ptr<KvCache> cache;
  const EngineOptions options;
  EngineStats stats;
  PrefixTrie trie;
  const ReuseRules rules;
  RequestQueue queue;
  StepLoop loop;
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
  for (const LogitBias& entry : request.sampling.logit_bias) {
    if (entry.token.value() >= 0 && static_cast<uint32_t>(entry.token.value()) < vocab_size)
      continue;
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("logit_bias is of token id {}, outside the vocabulary of {} tokens",
                            entry.token.value(), vocab_size));
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
  while (true) {
    RequestQueue::News news =
        queue.Take(loop.has_work() ? RequestQueue::Wait::kNot : RequestQueue::Wait::kForNews);
    if (news.is_over) return;
    for (const RequestQueue::Task& task : news.tasks) task();
    TellUntold(news.untold);
    for (QueuedRequest& queued : news.arrived) loop.Add(std::move(queued));
    for (const RequestId id : news.cancelled) loop.Cancel(id);
    if (loop.has_work()) loop.Step();
  }
}

// They were cancelled before the engine took them.
void Engine::State::TellUntold(const std::vector<EventSink>& sinks) {
  for (const EventSink& sink : sinks) {
    ++stats.cancelled;
    sink(FinishEvent{.reason = FinishReason::kCancelled, .at = options.now()});
  }
}

CacheReport Engine::State::Describe() const {
  CacheReport report;
  const auto add = [&](std::string name, const TilePool* pool, uint32_t references) {
    if (pool == nullptr) return;
    report.pools.push_back({.name = std::move(name),
                            .tile_bytes = pool->group().tile_bytes(),
                            .tiles = pool->tile_count(),
                            .tiles_used = pool->used_count(),
                            .tiles_live = std::min(references, pool->used_count())});
  };
  const auto views = loop.RunningViews();
  const auto live = [&](uint32_t (SequenceView::*count)() const) {
    uint32_t sum = 0;
    for (const SequenceView* view : views) sum += (view->*count)();
    return sum;
  };
  add("full", cache->full_pool(), live(&SequenceView::full_tile_count));
  add("window", cache->window_pool(), live(&SequenceView::window_tile_count));
  add("owed", cache->owed_pool(), live(&SequenceView::owed_tile_count));
  report.trie = trie.stats();
  constexpr size_t kMost = 100;
  for (const uint32_t tokens : trie.LeafEnds(kMost)) report.conversations.push_back({tokens});
  return report;
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
    state->loop.UpdateGauges();
  });
}

const EngineStats& Engine::stats() const { return state_->stats; }
const EngineOptions& Engine::options() const { return state_->options; }
const KvCache& Engine::cache() const { return *state_->cache; }

}  // namespace weir
