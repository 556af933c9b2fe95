#include "server/server_metrics.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

constexpr std::array<std::string_view, kOutcomeCount> kOutcomes = {
    "stop", "length", "cancelled", "invalid", "refused", "failed"};

constexpr std::array<std::string_view, kGoneCount> kGone = {"waiting", "answering", "slow"};

// Statuses by which a request is turned away whatever it asks.
constexpr std::array<int, 7> kRefusals = {401, 403, 408, 413, 429, 431, 503};

const MetricName kSourceTokens = {"weir_prompt_source_tokens_total",
                                  "Tokens of prompts that were read, by where they came from."};
const MetricName kVetoedTokens = {
    "weir_vetoed_tokens_total",
    "Prompt tokens whose full KV was there and of no use, by what was missing."};
const MetricName kBegunRequests = {"weir_begun_requests_total",
                                   "Requests that the engine began, by how."};

const std::vector<double> kFirstTokenBounds = {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                               2.5,  5,     10,   20,  40,   80};
const std::vector<double> kNextTokenBounds = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04,
                                              0.06,  0.08,   0.1,   0.2,  0.5,  1,    2.5};
const std::vector<double> kRequestBounds = {0.05, 0.1, 0.25, 0.5, 1,   2.5, 5,
                                            10,   20,  40,   80,  160, 320, 640};

}  // namespace

std::string_view GoneName(Gone gone) { return kGone[static_cast<size_t>(gone)]; }
std::string_view OutcomeName(Outcome outcome) { return kOutcomes[static_cast<size_t>(outcome)]; }

ServerMetrics::ServerMetrics(std::string_view version, std::string_view model_id)
    : prompt_tokens_(
          registry_.AddCounter({"weir_prompt_tokens_total",
                                "Tokens of prompts that were read, wherever they came from."})),
      device_tokens_(registry_.AddCounter(kSourceTokens, {{"source", "device"}})),
      replayed_tokens_(registry_.AddCounter(kSourceTokens, {{"source", "replayed"}})),
      computed_tokens_(registry_.AddCounter(kSourceTokens, {{"source", "computed"}})),
      generated_tokens_(
          registry_.AddCounter({"weir_generated_tokens_total", "Tokens of answers."})),
      vetoed_window_tokens_(registry_.AddCounter(kVetoedTokens, {{"reason", "window"}})),
      vetoed_owed_tokens_(registry_.AddCounter(kVetoedTokens, {{"reason", "owed_rows"}})),
      began_cold_(registry_.AddCounter(kBegunRequests, {{"from", "cold"}})),
      began_at_resume_point_(registry_.AddCounter(kBegunRequests, {{"from", "resume_point"}})),
      began_with_replay_(registry_.AddCounter(kBegunRequests, {{"from", "replay"}})),
      saved_seconds_(registry_.AddCounter(
          {"weir_saved_seconds_total",
           "Time that reading prompts from the start would have taken longer, estimated."})),
      preemptions_(registry_.AddCounter(
          {"weir_preemptions_total", "Running requests that gave their memory to an older one."})),
      recomputed_tokens_(registry_.AddCounter(
          {"weir_recomputed_tokens_total", "Tokens computed again after a preemption."})),
      early_shares_(
          registry_.AddCounter({"weir_early_shares_total",
                                "Requests that waited for a prefix which another was computing."})),
      queue_timeouts_(registry_.AddCounter(
          {"weir_queue_timeouts_total", "Requests that waited too long to begin."})),
      first_token_seconds_(registry_.AddHistogram(
          {"weir_first_token_seconds", "From the whole request to the first token, in seconds."},
          kFirstTokenBounds)),
      next_token_seconds_(registry_.AddHistogram(
          {"weir_next_token_seconds", "Between two tokens of one answer, in seconds."},
          kNextTokenBounds)),
      request_seconds_(registry_.AddHistogram(
          {"weir_request_seconds", "From the whole request to its end, in seconds."},
          kRequestBounds)),
      running_(
          registry_.AddGauge({"weir_running_requests", "Requests that the engine works on now."})),
      waiting_(registry_.AddGauge({"weir_waiting_requests", "Requests in the queue now."})),
      connections_(registry_.AddGauge({"weir_http_connections", "Open connections."})),
      full_bytes_reserved_(registry_.AddGauge(
          {"weir_kv_reserved_bytes",
           "Bytes of KV tiles that running requests were promised and have not taken, by group."},
          {{"group", "full"}})),
      full_bytes_used_(registry_.AddGauge(
          {"weir_kv_used_bytes", "Bytes of KV tiles in use, by group."}, {{"group", "full"}})),
      full_bytes_(registry_.AddGauge({"weir_kv_pool_bytes", "Bytes of the KV pools, by group."},
                                     {{"group", "full"}})),
      window_bytes_used_(registry_.AddGauge(
          {"weir_kv_used_bytes", "Bytes of KV tiles in use, by group."}, {{"group", "window"}})),
      window_bytes_(registry_.AddGauge({"weir_kv_pool_bytes", "Bytes of the KV pools, by group."},
                                       {{"group", "window"}})) {
  for (const std::string_view outcome : kOutcomes) {
    requests_.push_back(
        registry_.AddCounter({"weir_requests_total", "Completion requests by how they ended."},
                             {{"outcome", std::string(outcome)}}));
  }
  for (const char* status : {"2xx", "3xx", "4xx", "5xx"}) {
    http_replies_.push_back(registry_.AddCounter(
        {"weir_http_replies_total", "HTTP answers by status."}, {{"status", status}}));
  }
  for (const int status : kRefusals) {
    refusals_.push_back(registry_.AddCounter(
        {"weir_http_refusals_total", "Requests that were turned away, by status."},
        {{"status", std::to_string(status)}}));
  }
  for (const std::string_view when : kGone) {
    gone_clients_.push_back(registry_.AddCounter(
        {"weir_gone_clients_total", "Clients that left before the end of their answer, by when."},
        {{"when", std::string(when)}}));
  }
  registry_
      .AddGauge({"weir_build_info", "Version and model; the value is 1."},
                {{"version", std::string(version)}, {"model", std::string(model_id)}})
      .Set(1);
}

void ServerMetrics::OnPromptRead(const TokenSources& sources) {
  prompt_tokens_.Add(double{1} * sources.device + sources.replayed + sources.computed);
  device_tokens_.Add(sources.device);
  replayed_tokens_.Add(sources.replayed);
  computed_tokens_.Add(sources.computed);
}

void ServerMetrics::OnToken() { generated_tokens_.Add(); }

void ServerMetrics::OnFirstToken(double seconds_since_arrival) {
  first_token_seconds_.Observe(seconds_since_arrival);
}

void ServerMetrics::OnNextToken(double seconds_since_last) {
  next_token_seconds_.Observe(seconds_since_last);
}

void ServerMetrics::OnRequestEnd(Outcome outcome, double seconds) {
  requests_[static_cast<size_t>(outcome)].Add();
  request_seconds_.Observe(seconds);
}

void ServerMetrics::OnClientGone(Gone gone) { gone_clients_[static_cast<size_t>(gone)].Add(); }

void ServerMetrics::OnHttpReply(int status) {
  const auto index = static_cast<size_t>(std::clamp(status / 100, 2, 5) - 2);
  http_replies_[index].Add();
  const auto refusal = std::ranges::find(kRefusals, status);
  if (refusal != kRefusals.end()) {
    refusals_[static_cast<size_t>(refusal - kRefusals.begin())].Add();
  }
}

void ServerMetrics::SetConnections(size_t count) { connections_.Set(static_cast<double>(count)); }

std::string ServerMetrics::Text(const EngineGauges& gauges, const EngineCounters& counters) {
  running_.Set(gauges.running);
  waiting_.Set(gauges.waiting);
  full_bytes_used_.Set(static_cast<double>(gauges.full_bytes_used));
  full_bytes_.Set(static_cast<double>(gauges.full_bytes_total));
  full_bytes_reserved_.Set(static_cast<double>(gauges.full_bytes_reserved));
  window_bytes_used_.Set(static_cast<double>(gauges.window_bytes_used));
  window_bytes_.Set(static_cast<double>(gauges.window_bytes_total));
  vetoed_window_tokens_.RaiseTo(static_cast<double>(counters.vetoed_window_tokens));
  vetoed_owed_tokens_.RaiseTo(static_cast<double>(counters.vetoed_owed_tokens));
  began_cold_.RaiseTo(static_cast<double>(counters.began_cold));
  began_at_resume_point_.RaiseTo(static_cast<double>(counters.began_at_resume_point));
  began_with_replay_.RaiseTo(static_cast<double>(counters.began_with_replay));
  saved_seconds_.RaiseTo(counters.saved_seconds);
  preemptions_.RaiseTo(static_cast<double>(counters.preemptions));
  recomputed_tokens_.RaiseTo(static_cast<double>(counters.recomputed_tokens));
  early_shares_.RaiseTo(static_cast<double>(counters.early_shares));
  queue_timeouts_.RaiseTo(static_cast<double>(counters.queue_timeouts));
  SetEngineSeries(gauges, counters);
  return registry_.Text();
}

void ServerMetrics::SetEngineSeries(const EngineGauges& gauges, const EngineCounters& counters) {
  const auto raise = [this](std::optional<Histogram>& histogram, const MetricName& name,
                            const EngineHistogram& counted) {
    if (counted.counts.empty()) return;
    if (!histogram) histogram = registry_.AddHistogram(name, counted.bounds);
    histogram->RaiseTo(counted.counts, counted.sum);
  };
  raise(step_seconds_, {"weir_step_seconds", "Forward passes, in seconds."}, counters.step_seconds);
  raise(step_sequences_, {"weir_step_sequences", "Requests that take part in a forward pass."},
        counters.step_sequences);
  for (size_t i = 0; i < gauges.waiting_by_bucket.size(); ++i) {
    const auto& [bucket, requests] = gauges.waiting_by_bucket[i];
    if (i == waiting_by_bucket_.size()) {
      waiting_by_bucket_.push_back(registry_.AddGauge(
          {"weir_bucket_waiting_requests", "Requests that wait to begin, by length in tokens."},
          {{"tokens", bucket}}));
    }
    waiting_by_bucket_[i].Set(requests);
  }
}

}  // namespace weir
