// Runs a plan against a server: a coroutine for each request that is under way.
//
// Ownership: borrows plan, client and calibration while a call lasts. Threads: the caller's, which
// it keeps until the end; RunLoad takes SIGINT meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "load/completion_client.h"
#include "load/load_plan.h"
#include "load/prompt_text.h"
#include "load/request_record.h"

namespace weir {

// Two short requests (8 and 512 words). kUnavailable, with what the server said.
[[nodiscard]] Result<Calibration> MeasureCalibration(const CompletionClient& client, uint64_t seed);

struct LoadProgress {
  uint64_t done = 0;  // requests, failed ones included
  uint64_t failed = 0;
  uint64_t under_way = 0;
  uint64_t planned = 0;
};

struct LoadResult {
  double seconds = 0;                  // from the first request's start to the last one's end
  std::vector<RequestRecord> records;  // in the order of their ends
  uint64_t planned = 0;
  bool was_interrupted = false;  // Ctrl-C: what was under way is not counted
};

// A failed turn ends its script. `on_progress` is called after each end and every tenth of a
// second.
[[nodiscard]] LoadResult RunLoad(const LoadPlan& plan, const CompletionClient& client,
                                 const Calibration& calibration,
                                 const std::function<void(const LoadProgress&)>& on_progress);

}  // namespace weir
