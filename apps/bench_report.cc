#include "bench_report.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

std::string Size(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.2f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

std::string Parameters(uint64_t count) {
  const auto number = static_cast<double>(count);
  return number < 1e9 ? fmt::format("{:.2f} M", number / 1e6)
                      : fmt::format("{:.2f} B", number / 1e9);
}

// What llama-batched-bench writes of a decode row: there the depth is a prompt that is timed too.
Json BatchedFields(const BenchResult& result) {
  const BenchTest& test = result.test;
  const double count = test.sequence_count;
  const double read_s =
      MeanAndSd({result.depth_samples.begin(), result.depth_samples.end()}).mean * 1e-9;
  const double decode_s = MeanAndSd({result.samples.begin(), result.samples.end()}).mean * 1e-9;
  const auto speed = [](double tokens, double seconds) {
    return tokens > 0 ? tokens / seconds : 0;
  };
  return {{"is_pp_shared", 0},
          {"n_threads_batch", result.threads},
          {"pp", test.depth},
          {"tg", test.answer_tokens},
          {"pl", test.sequence_count},
          {"n_kv", test.sequence_count * test.TokensEach()},
          {"t_pp", read_s},
          {"speed_pp", speed(count * test.depth, read_s)},
          {"t_tg", decode_s},
          {"speed_tg", speed(count * test.answer_tokens, decode_s)},
          {"t", read_s + decode_s},
          {"speed", speed(count * static_cast<double>(test.TokensEach()), read_s + decode_s)}};
}

// All fields of a llama-bench record; those about other hardware hold its CPU defaults.
Json Record(const BenchResult& result) {
  const MeanSd ns = MeanAndSd({result.samples.begin(), result.samples.end()});
  const MeanSd speed = MeanAndSd(result.TokensPerSecond());
  Json record = {{"build_commit", "weir 0.1.0"},
                 {"build_number", 0},
                 {"cpu_info", CpuName()},
                 {"gpu_info", ""},
                 {"backends", "CPU"},
                 {"model_filename", result.model.path},
                 {"model_type", result.model.type},
                 {"model_size", result.model.bytes},
                 {"model_n_params", result.model.parameters},
                 {"n_batch", result.chunk_tokens},
                 {"n_ubatch", result.chunk_tokens},
                 {"n_threads", result.threads},
                 {"cpu_mask", "0x0"},
                 {"cpu_strict", false},
                 {"poll", 0},
                 {"type_k", "f16"},
                 {"type_v", "f16"},
                 {"n_gpu_layers", 0},
                 {"n_cpu_moe", 0},
                 {"split_mode", "none"},
                 {"main_gpu", 0},
                 {"no_kv_offload", false},
                 {"flash_attn", 1},
                 {"devices", "auto"},
                 {"tensor_split", "0.00"},
                 {"tensor_buft_overrides", "none"},
                 {"load_mode", "mmap"},
                 {"embeddings", false},
                 {"no_op_offload", 0},
                 {"no_host", false},
                 {"fit_target", 0},
                 {"fit_min_ctx", 0},
                 {"n_prompt", result.test.prompt_tokens},
                 {"n_gen", result.test.answer_tokens},
                 {"n_depth", result.test.depth},
                 {"test_time", result.started_at},
                 {"avg_ns", static_cast<uint64_t>(ns.mean)},
                 {"stddev_ns", static_cast<uint64_t>(ns.sd)},
                 {"avg_ts", speed.mean},
                 {"stddev_ts", speed.sd},
                 {"samples_ns", result.samples},
                 {"samples_ts", result.TokensPerSecond()}};
  if (result.test.prompt_tokens == 0) record.update(BatchedFields(result));
  return record;
}

class MarkdownReport final : public BenchReport {
 public:
  std::string Begin() const override {
    return Line("model", "size", "params", "backend", "threads", "test", "t/s") +
           fmt::format(
               "| {:-<29}- | {:->9}: | {:->9}: | {:-<9}- | {:->6}: | {:->14}: | {:->19}: |\n", "",
               "", "", "", "", "", "");
  }
  std::string Row(const BenchResult& result) override {
    const MeanSd speed = MeanAndSd(result.TokensPerSecond());
    return Line(result.model.type, Size(result.model.bytes), Parameters(result.model.parameters),
                "CPU", std::to_string(result.threads), result.test.Name(),
                fmt::format("{:.2f} ± {:.2f}", speed.mean, speed.sd));
  }
  std::string End() const override { return ""; }

 private:
  static std::string Line(const std::string& model, const std::string& size,
                          const std::string& parameters, const std::string& backend,
                          const std::string& threads, const std::string& test,
                          const std::string& speed) {
    return fmt::format("| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>15} | {:>20} |\n", model,
                       size, parameters, backend, threads, test, speed);
  }
};

class JsonReport final : public BenchReport {
 public:
  std::string Begin() const override { return "[\n"; }
  std::string Row(const BenchResult& result) override {
    const std::string separator = row_count_++ == 0 ? "" : ",\n";
    return separator + Record(result).dump(2);
  }
  std::string End() const override { return "\n]\n"; }

 private:
  uint32_t row_count_ = 0;
};

class JsonLinesReport final : public BenchReport {
 public:
  std::string Begin() const override { return ""; }
  std::string Row(const BenchResult& result) override { return Record(result).dump() + "\n"; }
  std::string End() const override { return ""; }
};

}  // namespace

std::vector<double> BenchResult::TokensPerSecond() const {
  const auto tokens = static_cast<double>(test.TimedTokens());
  std::vector<double> speeds;
  for (const uint64_t ns : samples) speeds.push_back(1e9 * tokens / static_cast<double>(ns));
  return speeds;
}

MeanSd MeanAndSd(const std::vector<double>& values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  MeanSd result{.mean = sum / count, .sd = 0};
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.sd = std::sqrt(squares / (count - 1));
  return result;
}

Result<std::unique_ptr<BenchReport>> BenchReport::Create(const std::string& format) {
  if (format == "md") return std::unique_ptr<BenchReport>(new MarkdownReport);
  if (format == "json") return std::unique_ptr<BenchReport>(new JsonReport);
  if (format == "jsonl") return std::unique_ptr<BenchReport>(new JsonLinesReport);
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("output format '{}'; Weir writes md, json and jsonl", format));
}

}  // namespace weir
