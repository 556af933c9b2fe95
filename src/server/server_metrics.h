// What /metrics shows; docs/metrics.md explains every series.
//
// Ownership: the server owns one. Threads: the I/O thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obs/metrics.h"
#include "server/engine_port.h"

namespace weir {

// How a completion request ended.
enum class Outcome : uint8_t { kStop, kLength, kCancelled, kInvalid, kRefused, kFailed };
inline constexpr size_t kOutcomeCount = 6;
[[nodiscard]] std::string_view OutcomeName(Outcome outcome);

// Clients that left before they had their answer.
enum class Gone : uint8_t {
  kWaiting,    // before its first token
  kAnswering,  // later
  kSlow,       // given up: it did not read
};
inline constexpr size_t kGoneCount = 3;
[[nodiscard]] std::string_view GoneName(Gone gone);

class ServerMetrics {
 public:
  explicit ServerMetrics(std::string_view version, std::string_view model_id);

  void OnPromptRead(const TokenSources& sources);
  void OnToken();  // every one
  void OnFirstToken(double seconds_since_arrival);
  void OnNextToken(double seconds_since_last);
  void OnRequestEnd(Outcome outcome, double seconds);
  void OnClientGone(Gone gone);
  void OnHttpReply(int status);
  void SetConnections(size_t count);

  // All series as text, those of the engine as of now.
  [[nodiscard]] std::string Text(const EngineGauges& gauges, const EngineCounters& counters);

 private:
  void SetEngineSeries(const EngineGauges& gauges, const EngineCounters& counters);

  MetricRegistry registry_;
  std::vector<Counter> requests_;      // by Outcome
  std::vector<Counter> http_replies_;  // by hundreds of the status, from 2xx
  std::vector<Counter> refusals_;      // by kRefusals
  std::vector<Counter> gone_clients_;  // by Gone
  Counter prompt_tokens_, device_tokens_, replayed_tokens_, computed_tokens_, generated_tokens_;
  Counter vetoed_window_tokens_, vetoed_owed_tokens_;
  Counter began_cold_, began_at_resume_point_, began_with_replay_, saved_seconds_;
  Counter preemptions_, recomputed_tokens_, early_shares_, queue_timeouts_;
  Histogram first_token_seconds_, next_token_seconds_, request_seconds_;
  // Of the engine; made when the first numbers come, which bring their bounds and names.
  std::optional<Histogram> step_seconds_, step_sequences_;
  std::vector<Gauge> waiting_by_bucket_;
  Gauge running_, waiting_, connections_;
  Gauge full_bytes_reserved_, full_bytes_used_, full_bytes_, window_bytes_used_, window_bytes_;
};

}  // namespace weir
