#include "server/engine_port.h"

#include <utility>

namespace weir {
namespace {

template <size_t kBoundCount>
EngineHistogram Read(const AtomicHistogram<kBoundCount>& histogram) {
  EngineHistogram out;
  out.bounds.assign(histogram.bounds().begin(), histogram.bounds().end());
  for (size_t i = 0; i <= kBoundCount; ++i) out.counts.push_back(histogram.count_in(i));
  out.sum = histogram.sum();
  return out;
}

}  // namespace

Result<RequestId> LocalEngine::Submit(GenerationRequest request, EventSink sink) {
  return engine_.Submit(std::move(request), std::move(sink));
}

void LocalEngine::Cancel(RequestId id) { engine_.Cancel(id); }

void LocalEngine::Shutdown(std::chrono::milliseconds grace) { engine_.Shutdown(grace); }

uint32_t LocalEngine::context_tokens() const { return engine_.options().context_tokens; }

uint32_t LocalEngine::queue_capacity() const { return engine_.options().queue_capacity; }

EngineGauges LocalEngine::gauges() const {
  const EngineStats& stats = engine_.stats();
  const KvCache& cache = engine_.cache();
  EngineGauges out;
  out.running = stats.running;
  out.waiting = stats.waiting;
  out.full_bytes_used = stats.full_bytes_used;
  out.full_bytes_reserved = stats.full_bytes_reserved;
  out.window_bytes_used = stats.window_bytes_used;
  if (cache.full_pool() != nullptr) out.full_bytes_total = cache.full_pool()->bytes();
  if (cache.window_pool() != nullptr) out.window_bytes_total = cache.window_pool()->bytes();
  const LengthBuckets& buckets = engine_.options().buckets;
  for (uint32_t bucket = 0; bucket < buckets.count(); ++bucket) {
    out.waiting_by_bucket.emplace_back(buckets.NameOf(bucket), stats.waiting_by_bucket[bucket]);
  }
  return out;
}

EngineCounters LocalEngine::counters() const {
  const EngineStats& stats = engine_.stats();
  EngineCounters out;
  out.vetoed_window_tokens = stats.vetoed_window_tokens;
  out.vetoed_owed_tokens = stats.vetoed_owed_tokens;
  out.began_cold = stats.began_cold;
  out.began_at_resume_point = stats.began_at_resume_point;
  out.began_with_replay = stats.began_with_replay;
  out.saved_seconds = static_cast<double>(stats.saved_us) * 1e-6;
  out.preemptions = stats.preemptions;
  out.recomputed_tokens = stats.recomputed_tokens;
  out.early_shares = stats.early_shares;
  out.queue_timeouts = stats.timed_out;
  out.step_seconds = Read(stats.step_seconds);
  out.step_sequences = Read(stats.step_sequences);
  return out;
}

void LocalEngine::DescribeCache(std::function<void(CacheReport)> done) {
  engine_.DescribeCache(std::move(done));
}

void LocalEngine::FlushCache(std::function<void(uint64_t)> done) {
  engine_.FlushCache(std::move(done));
}

}  // namespace weir
