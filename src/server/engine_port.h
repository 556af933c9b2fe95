// What the server needs of an engine: a seam, so that tests decide when a token comes.
//
// Threads: as Engine: any; sinks are called on the engine's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace weir {

struct EngineGauges {
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint64_t full_bytes_used = 0;
  uint64_t full_bytes_total = 0;
  uint64_t full_bytes_reserved = 0;
  uint64_t window_bytes_used = 0;
  uint64_t window_bytes_total = 0;
  std::vector<std::pair<std::string, uint32_t>> waiting_by_bucket;  // name of the bucket, requests
};

// Observations that the engine counted since its start: `counts` has one entry more than `bounds`.
// Empty: the engine does not count them.
struct EngineHistogram {
  std::vector<double> bounds;
  std::vector<uint64_t> counts;
  double sum = 0;
};

// What the engine counted since its start; see EngineStats.
struct EngineCounters {
  uint64_t vetoed_window_tokens = 0;
  uint64_t vetoed_owed_tokens = 0;
  uint64_t began_cold = 0;
  uint64_t began_at_resume_point = 0;
  uint64_t began_with_replay = 0;
  double saved_seconds = 0;
  uint64_t preemptions = 0;
  uint64_t recomputed_tokens = 0;
  uint64_t early_shares = 0;
  uint64_t queue_timeouts = 0;
  EngineHistogram step_seconds = {};
  EngineHistogram step_sequences = {};
};

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual Result<RequestId> Submit(GenerationRequest request, EventSink sink) = 0;
  virtual void Cancel(RequestId id) = 0;
  // No sink is called after it has returned.
  virtual void Shutdown(std::chrono::milliseconds grace) = 0;
  [[nodiscard]] virtual uint32_t context_tokens() const = 0;
  [[nodiscard]] virtual uint32_t queue_capacity() const = 0;  // requests that may wait
  [[nodiscard]] virtual EngineGauges gauges() const = 0;
  [[nodiscard]] virtual EngineCounters counters() const = 0;
  // Between two steps; `done` is called on the engine's thread, or never if it shuts down first.
  virtual void DescribeCache(std::function<void(CacheReport)> done) = 0;
  virtual void FlushCache(std::function<void(uint64_t)> done) = 0;
};

// The engine of this process.
class LocalEngine final : public EnginePort {
 public:
  explicit LocalEngine(Engine& engine) : engine_(engine) {}
  Result<RequestId> Submit(GenerationRequest request, EventSink sink) override;
  void Cancel(RequestId id) override;
  void Shutdown(std::chrono::milliseconds grace) override;
  [[nodiscard]] uint32_t context_tokens() const override;
  [[nodiscard]] uint32_t queue_capacity() const override;
  [[nodiscard]] EngineGauges gauges() const override;
  [[nodiscard]] EngineCounters counters() const override;
  void DescribeCache(std::function<void(CacheReport)> done) override;
  void FlushCache(std::function<void(uint64_t)> done) override;

 private:
  Engine& engine_;
};

}  // namespace weir
