// Results of `weir bench` in the row names, columns and JSON fields of llama-bench, so that scripts
// made for it read them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace weir {

struct BenchTest {
  uint32_t prompt_tokens = 0;  // "pp"
  uint32_t answer_tokens = 0;  // "tg"
  uint32_t depth = 0;          // tokens already in the sequence

  [[nodiscard]] std::string Name() const;  // "pp512", "tg64 @ d4096", "pp512+tg128"
};

struct BenchModel {
  std::string path;
  std::string type;  // "gemma3 270M Q4_K - Medium"
  uint64_t bytes = 0;
  uint64_t parameters = 0;
};

struct BenchResult {
  BenchModel model;
  BenchTest test;
  uint32_t threads = 0;
  uint32_t chunk_tokens = 0;
  std::string started_at;         // ISO 8601, UTC
  std::vector<uint64_t> samples;  // nanoseconds a repetition

  [[nodiscard]] std::vector<double> TokensPerSecond() const;
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
