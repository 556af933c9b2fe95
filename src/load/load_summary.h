// What the requests of a load came to, by class and together. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "load/percentiles.h"
#include "load/request_record.h"

namespace weir {

struct ClassSummary {
  std::string name;
  uint64_t requests = 0;
  uint64_t failed = 0;  // counted nowhere else
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t answer_tokens = 0;

  Percentiles first_text_s;  // sent to first text; TTFT
  Percentiles gap_s;         // between two events with text; ITL
  Percentiles total_s;       // sent to the answer's end
};

struct LoadSummary {
  double seconds = 0;
  std::vector<ClassSummary> classes;  // those that have requests
  ClassSummary total;
  std::map<std::string, uint64_t> errors;  // kind to count

  [[nodiscard]] double PerSecond(uint64_t count) const {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  }
};

[[nodiscard]] LoadSummary Summarize(std::span<const RequestRecord> records,
                                    std::span<const std::string> class_names, double seconds);

}  // namespace weir
