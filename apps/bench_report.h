// Results of `weir bench` in the row names, columns and JSON fields of llama-bench, so that scripts
// made for it read them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench_model.h"
#include "bench_plan.h"
#include "bench_roofline.h"

namespace weir {

struct BenchResult {
  BenchModel model;
  BenchTest test;
  uint32_t threads = 0;
  uint32_t chunk_tokens = 0;
  std::string started_at;               // ISO 8601, UTC
  std::vector<uint64_t> samples;        // nanoseconds a repetition
  std::vector<uint64_t> depth_samples;  // the same for reading the depth before it

  std::optional<Roofline> roofline;  // if asked for

  [[nodiscard]] std::vector<double> TokensPerSecond() const;  // of all sequences
  [[nodiscard]] double MeanTokensPerSecond() const;
};

struct MeanSd {
  double mean = 0;
  double sd = 0;  // of the sample: n - 1; 0 for fewer than two values
};
[[nodiscard]] MeanSd MeanAndSd(const std::vector<double>& values);

class BenchReport {
 public:
  virtual ~BenchReport() = default;
  [[nodiscard]] virtual std::string Begin() const = 0;
  [[nodiscard]] virtual std::string Row(const BenchResult& result) = 0;
  [[nodiscard]] virtual std::string End() const = 0;

  // "md", "json" or "jsonl".
  static Result<std::unique_ptr<BenchReport>> Create(const std::string& format);
};

}  // namespace weir
