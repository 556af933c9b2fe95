// What the server needs of an engine: a seam, so that tests decide when a token comes.
//
// Threads: as Engine: any; sinks are called on the engine's thread.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/result.h"
#include "engine/engine.h"

namespace weir {

struct EngineGauges {
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint64_t full_bytes_used = 0;
  uint64_t full_bytes_total = 0;
  uint64_t window_bytes_used = 0;
  uint64_t window_bytes_total = 0;
};

class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual Result<RequestId> Submit(GenerationRequest request, EventSink sink) = 0;
  virtual void Cancel(RequestId id) = 0;
  // No sink is called after it has returned.
  virtual void Shutdown(std::chrono::milliseconds grace) = 0;
  [[nodiscard]] virtual uint32_t context_tokens() const = 0;
  [[nodiscard]] virtual EngineGauges gauges() const = 0;
};

// The engine of this process.
class LocalEngine final : public EnginePort {
 public:
  explicit LocalEngine(Engine& engine) : engine_(engine) {}
  Result<RequestId> Submit(GenerationRequest request, EventSink sink) override;
  void Cancel(RequestId id) override;
  void Shutdown(std::chrono::milliseconds grace) override;
  [[nodiscard]] uint32_t context_tokens() const override;
  [[nodiscard]] EngineGauges gauges() const override;

 private:
  Engine& engine_;
};

}  // namespace weir
