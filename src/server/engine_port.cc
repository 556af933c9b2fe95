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

}  // namespace weir
