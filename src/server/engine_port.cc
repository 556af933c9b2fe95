#include "server/engine_port.h"

#include <utility>

namespace weir {

Result<RequestId> LocalEngine::Submit(GenerationRequest request, EventSink sink) {
  return engine_.Submit(std::move(request), std::move(sink));
}

void LocalEngine::Cancel(RequestId id) { engine_.Cancel(id); }

void LocalEngine::Shutdown(std::chrono::milliseconds grace) { engine_.Shutdown(grace); }

uint32_t LocalEngine::context_tokens() const { return engine_.options().context_tokens; }

EngineGauges LocalEngine::gauges() const {
  const EngineStats& stats = engine_.stats();
  const KvCache& cache = engine_.cache();
  EngineGauges out;
  out.running = stats.running;
  out.waiting = stats.waiting;
  out.full_bytes_used = stats.full_bytes_used;
  out.window_bytes_used = stats.window_bytes_used;
  if (cache.full_pool() != nullptr) out.full_bytes_total = cache.full_pool()->bytes();
  if (cache.window_pool() != nullptr) out.window_bytes_total = cache.window_pool()->bytes();
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
  return out;
}

void LocalEngine::DescribeCache(std::function<void(CacheReport)> done) {
  engine_.DescribeCache(std::move(done));
}

void LocalEngine::FlushCache(std::function<void(uint64_t)> done) {
  engine_.FlushCache(std::move(done));
}

}  // namespace weir
