#include "engine/step_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/token_span.h"

namespace weir {
namespace {

// A prefix that is worth waiting for is longer than what is cached by so much.
constexpr uint32_t kLeastShared = kTileTokens;
// Prefixes that one request waits for, one after the other: where memory keeps none of them, it
// must read its prompt itself in the end.
constexpr uint32_t kMostShares = 4;
// Prompt rows of a step, of all requests, that may have a whole vocabulary of logits: 1 MiB a row
// for Gemma.
constexpr uint32_t kLogprobRows = 32;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

struct StepLoop::Job {
  Job(QueuedRequest queued, uint64_t arrival_number, const GenerationParts& parts,
      uint32_t context_tokens)
      : id(queued.id),
        arrival(arrival_number),
        arrived_at(parts.now()),
        sink(std::move(queued.sink)),
        generation(parts, context_tokens, std::move(queued.request), sink) {}

  const RequestId id;
  const uint64_t arrival;
  const TimePoint arrived_at;
  const EventSink sink;
  Generation generation;
  std::optional<Shared> shared;
  uint32_t share_count = 0;
  uint32_t passed_by = 0;    // see WaitingRequest
  uint32_t step_tokens = 0;  // of the step being planned
};

StepLoop::StepLoop(const StepLoopParts& parts)
    : parts_(parts), ledger_(parts.cache), waiting_(parts.options.buckets, parts.options.policy) {}

StepLoop::~StepLoop() = default;

void StepLoop::Add(QueuedRequest queued) {
  const uint64_t held = parts_.cache.MaxSequenceTokens();
  const auto context_tokens =
      static_cast<uint32_t>(std::min<uint64_t>(parts_.options.context_tokens, held));
  auto job = std::make_unique<Job>(std::move(queued), ++arrivals_,
                                   GenerationParts{.cache = parts_.cache,
                                                   .trie = parts_.trie,
                                                   .rules = parts_.rules,
                                                   .stats = parts_.stats,
                                                   .pace = pace_,
                                                   .now = parts_.options.now},
                                   context_tokens);
  waiting_.Add(Describe(*job));
  const RequestId id = job->id;
  jobs_.emplace(id, std::move(job));
  may_admit_ = true;
}

StepLoop::Job* StepLoop::Find(RequestId id) {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second.get();
}

void StepLoop::Cancel(RequestId id) {
  if (Job* job = Find(id)) {
    End(*job, FinishEvent{.reason = FinishReason::kCancelled, .at = parts_.options.now()});
  }
}

void StepLoop::Step() {
  FailTimedOut();
  if (may_admit_) Admit();
  UpdateGauges();
  Plan();
  OpenChunks();
  if (!in_step_.empty()) RunForward();
  UpdateGauges();
}

void StepLoop::FailTimedOut() {
  const auto timeout = parts_.options.queue_timeout;
  if (timeout.count() == 0 || waiting_.empty()) return;
  const TimePoint now = parts_.options.now();
  std::vector<Job*> late;
  for (const auto& [id, job] : jobs_) {
    if (!job->generation.has_started() && now - job->arrived_at > timeout) {
      late.push_back(job.get());
    }
  }
  std::ranges::sort(late, {}, &Job::arrival);
  for (Job* job : late) {
    ++parts_.stats.timed_out;
    End(*job, Error{ErrorCode::kUnavailable,
                    fmt::format("the request waited {:.0f} s for its turn; {} are running and {} "
                                "waiting; try again later",
                                Seconds(timeout), running_.size(), waiting_.count())});
  }
}

// match_: what the trie has of its tokens now.
void StepLoop::Match(const Generation& generation) {
  const PrefixPin root = parts_.trie.Root(generation.request().cache_namespace);
  parts_.trie.Match(root.node(), generation.tokens(), match_);
}

WaitingRequest StepLoop::Describe(const Job& job) {
  const Generation& generation = job.generation;
  const auto tokens = static_cast<uint32_t>(generation.tokens().size());
  Match(generation);
  const uint32_t uncached = tokens - match_.safe_length;
  const bool by_length = parts_.options.bucket_by == BucketBy::kPromptLength;
  return {.id = job.id,
          .arrival = job.arrival,
          .length = by_length ? tokens : uncached,
          .work = uncached + generation.answer_left(),
          .passed_by = job.passed_by};
}

void StepLoop::Admit() {
  may_admit_ = false;
  somebody_shares_ = false;
  while (running_.size() < parts_.options.max_sequences) {
    const auto taken =
        waiting_.Pick([this](const WaitingRequest& request) { return Offer(*Find(request.id)); });
    if (!taken) return;
    Job& job = *Find(taken->id);
    job.passed_by = taken->passed_by;
    Begin(job);
  }
}

WaitingQueue::Verdict StepLoop::Offer(Job& job) {
  if (StillShares(job)) return WaitingQueue::Verdict::kPass;
  const Generation& generation = job.generation;
  Match(generation);
  job.shared = FindShared(job, match_.safe_length);
  if (job.shared) {
    somebody_shares_ = true;
    Find(job.shared->by)->generation.ExpectBranch(job.shared->position);
    if (++job.share_count == 1) ++parts_.stats.early_shares;
    return WaitingQueue::Verdict::kPass;
  }
  return HasRoomFor(job) ? WaitingQueue::Verdict::kTake : WaitingQueue::Verdict::kNoRoom;
}

// The other one has not come to the end of the common prefix yet.
bool StepLoop::StillShares(Job& job) {
  if (!job.shared) return false;
  const Job* other = Find(job.shared->by);
  const bool goes_on = other != nullptr && other->generation.is_running() &&
                       other->generation.publishes() &&
                       other->generation.computed() < job.shared->position;
  if (!goes_on) job.shared.reset();
  somebody_shares_ = somebody_shares_ || goes_on;
  return goes_on;
}

std::optional<StepLoop::Shared> StepLoop::FindShared(const Job& job, uint32_t cached) {
  const Generation& generation = job.generation;
  const auto tokens = generation.tokens();
  if (generation.request().prompt_logprobs) return std::nullopt;  // it computes all of it anyhow
  if (job.share_count == kMostShares) return std::nullopt;
  std::optional<Shared> best;
  for (const Job* other : running_) {
    const Generation& reader = other->generation;
    if (reader.left() == 1 || !reader.publishes()) continue;  // it answers; or nothing would come
    if (reader.request().cache_namespace != generation.request().cache_namespace) continue;
    const uint32_t common = CommonBeginning(tokens.first(tokens.size() - 1), reader.tokens());
    if (common < cached + kLeastShared || common <= reader.computed()) continue;
    if (!best || common > best->position) best = Shared{.by = other->id, .position = common};
  }
  return best;
}

bool StepLoop::HasRoomFor(const Job& job) {
  ledger_.Begin();
  for (const Job* other : running_) {
    ledger_.AddRunning(other->generation.view(), other->generation.promised_tokens());
  }
  // Of a tile that it parts it takes a copy.
  shared_tiles_.clear();
  for (const NodeId node : std::span(match_.nodes).first(match_.full_length / kTileTokens)) {
    shared_tiles_.push_back(parts_.trie.FullTileOf(node));
  }
  return ledger_.HasRoomFor(job.generation.promised_tokens(), shared_tiles_);
}

void StepLoop::Begin(Job& job) {
  job.generation.Start();
  const auto at = std::ranges::upper_bound(running_, job.arrival, {}, &Job::arrival);
  running_.insert(at, &job);
  parts_.queue.MarkRunning(job.id);
}

// Each that has one token left takes a row; prompts take what the time allows.
void StepLoop::Plan() {
  prefills_.clear();
  uint32_t rows = 0;
  uint32_t logprob_rows = kLogprobRows;
  for (Job* job : running_) {
    const Generation& generation = job->generation;
    job->step_tokens = generation.left() == 1 ? 1 : 0;
    rows += job->step_tokens;
    if (job->step_tokens > 0) continue;
    uint32_t most = generation.left();
    if (generation.NeedsAllLogits()) {
      most = std::min(most, logprob_rows);
      logprob_rows -= most;
    }
    prefills_.push_back({.position = generation.computed(),
                         .left = generation.left(),
                         .most = most,
                         .arrival = job->arrival});
  }
  const EngineOptions& options = parts_.options;
  planner_.Plan(pace_,
                {.seconds = Seconds(rows > 0 ? options.max_step : options.step_target),
                 .tokens = options.chunk_tokens,
                 .policy = options.policy},
                prefills_);
  auto prefill = prefills_.begin();
  for (Job* job : running_) {
    if (job->step_tokens == 0) job->step_tokens = (prefill++)->tokens;
  }
}

void StepLoop::OpenChunks() {
  const std::vector<Job*> by_arrival = running_;
  for (Job* job : by_arrival) {
    if (job->step_tokens > 0 && job->generation.is_running()) OpenChunk(*job);
  }
  in_step_.clear();
  for (Job* job : running_) {
    if (job->generation.is_in_step()) in_step_.push_back(job);
  }
}

// Memory is missing: those that arrived later give way, at last the job itself.
void StepLoop::OpenChunk(Job& job) {
  while (true) {
    const Result<void> begun = job.generation.BeginStep(job.step_tokens);
    if (begun) return;
    const uint32_t to_tile_end = kTileTokens - job.generation.computed() % kTileTokens;
    if (job.step_tokens > to_tile_end) {
      job.step_tokens = to_tile_end;  // needs a tile, not several
    } else if (running_.back() != &job) {
      Suspend(*running_.back());
    } else if (running_.size() > 1) {
      return Suspend(job);
    } else {
      WEIR_DCHECK(!"a request alone finds no room");
      return End(job, begun.error());
    }
  }
}

void StepLoop::Suspend(Job& job) {
  job.generation.Suspend();
  std::erase(running_, &job);
  ++parts_.stats.preemptions;
  parts_.queue.MarkWaiting(job.id);
  waiting_.Add(Describe(job));
  may_admit_ = true;
}

void StepLoop::RunForward() {
  segments_.clear();
  uint32_t decode_rows = 0;
  uint32_t prefill_tokens = 0;
  double depths = 0;
  for (Job* job : in_step_) {
    segments_.push_back(job->generation.segment());
    const PrefillRun run{.first_position = job->generation.computed(), .tokens = job->step_tokens};
    if (run.tokens == 1) {
      ++decode_rows;
    } else {
      prefill_tokens += run.tokens;
      depths += run.tokens * run.depth();
    }
  }
  const TimePoint begin = parts_.options.now();
  const std::span<const float> rows = parts_.forward(segments_);
  const double seconds = Seconds(parts_.options.now() - begin);
  pace_.Record(decode_rows, prefill_tokens, prefill_tokens > 0 ? depths / prefill_tokens : 0,
               seconds);
  parts_.stats.step_seconds.Observe(seconds);
  parts_.stats.step_sequences.Observe(static_cast<double>(in_step_.size()));
  TakeRows(rows);
}

void StepLoop::TakeRows(std::span<const float> rows) {
  size_t row_count = 0;
  const auto wanted = [](const ForwardSegment& segment) {
    return segment.logits == LogitsWanted::kAll    ? segment.tokens.size()
           : segment.logits == LogitsWanted::kLast ? size_t{1}
                                                   : size_t{0};
  };
  for (const ForwardSegment& segment : segments_) row_count += wanted(segment);
  const size_t vocab_size = row_count > 0 ? rows.size() / row_count : 0;
  for (size_t i = 0; i < in_step_.size(); ++i) {
    const size_t floats = wanted(segments_[i]) * vocab_size;
    const auto reason = in_step_[i]->generation.EndStep(rows.first(floats));
    rows = rows.subspan(floats);
    if (reason) End(*in_step_[i], FinishEvent{.reason = *reason, .at = parts_.options.now()});
  }
  may_admit_ = may_admit_ || somebody_shares_;  // the prefix may be there now
}

void StepLoop::End(Job& job, GenerationEvent last) {
  EngineStats& stats = parts_.stats;
  if (const auto* finish = std::get_if<FinishEvent>(&last)) {
    ++(finish->reason == FinishReason::kStop     ? stats.finished_stop
       : finish->reason == FinishReason::kLength ? stats.finished_length
                                                 : stats.cancelled);
  } else {
    ++stats.failed;
  }
  job.generation.Finish();
  std::erase(running_, &job);
  waiting_.Remove(job.id);
  parts_.queue.MarkEnded(job.id);
  const std::unique_ptr<Job> ended = std::move(jobs_.extract(job.id).mapped());
  may_admit_ = true;
  UpdateGauges();
  ended->sink(std::move(last));
}

void StepLoop::UpdateGauges() {
  const auto used_bytes = [](const TilePool* pool) {
    return pool == nullptr ? 0 : pool->used_count() * pool->group().tile_bytes();
  };
  EngineStats& stats = parts_.stats;
  stats.full_bytes_used = used_bytes(parts_.cache.full_pool());
  stats.window_bytes_used = used_bytes(parts_.cache.window_pool());
  uint64_t reserved = 0;
  for (const Job* job : running_) {
    reserved +=
        ledger_.ReservedFullTiles(job->generation.view(), job->generation.promised_tokens());
  }
  const TilePool* full = parts_.cache.full_pool();
  stats.full_bytes_reserved = full == nullptr ? 0 : reserved * full->group().tile_bytes();
  stats.running = static_cast<uint32_t>(running_.size());
  for (uint32_t bucket = 0; bucket < waiting_.buckets().count(); ++bucket) {
    stats.waiting_by_bucket[bucket] = waiting_.CountIn(bucket);
  }
}

std::vector<const SequenceView*> StepLoop::RunningViews() const {
  std::vector<const SequenceView*> views;
  for (const Job* job : running_) views.push_back(&job->generation.view());
  return views;
}

}  // namespace weir
