#include "bench_report.h"

#include <fmt/format.h>

#include <cmath>

#include "bench_record.h"

namespace weir {
namespace {

std::string Size(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? fmt::format("{:.2f} MiB", mib) : fmt::format("{:.2f} GiB", mib / 1024);
}

std::string Parameters(uint64_t count) {
  const auto number = static_cast<double>(count);
  return number < 1e9 ? fmt::format("{:.2f} M", number / 1e6)
                      : fmt::format("{:.2f} B", number / 1e9);
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
    if (result.roofline) AddRoofline(result);
    return Line(result.model.type, Size(result.model.bytes), Parameters(result.model.parameters),
                "CPU", std::to_string(result.threads), result.test.Name(),
                fmt::format("{:.2f} ± {:.2f}", speed.mean, speed.sd));
  }
  std::string End() const override {
    if (roofline_rows_.empty()) return "";
    return fmt::format(
               "\n| {:<30} | {:>7} | {:>15} | {:<15} | {:>12} | {:>13} | {:>13} | {:>13} | {:>8} "
               "|\n"
               "| {:-<30} | {:->6}: | {:->14}: | {:-<15} | {:->11}: | {:->12}: | {:->12}: | "
               "{:->12}: "
               "| {:->7}: |\n",
               "model", "threads", "test", "limit", "a token", "reached", "limit here",
               "one thread", "of limit", "", "", "", "", "", "", "", "", "") +
           roofline_rows_;
  }

 private:
  void AddRoofline(const BenchResult& result) {
    const auto rate = [](double per_s, const char* unit) {
      return fmt::format("{:.1f} G{}/s", per_s * 1e-9, unit);
    };
    const auto add = [&](const std::string& name, const char* unit, const RooflineShare& share) {
      roofline_rows_ += fmt::format(
          "| {:<30} | {:>7} | {:>15} | {:<15} | {:>12} | {:>13} | {:>13} | {:>13} | {:>6.1f} % |\n",
          result.model.type, result.threads, result.test.Name(), name,
          fmt::format("{:.1f} M{}", share.per_token * 1e-6, unit), rate(share.reached_per_s, unit),
          rate(share.limit_per_s, unit), rate(share.one_thread_limit_per_s, unit),
          100 * share.OfLimit());
    };
    if (result.roofline->read) add("memory read", "B", *result.roofline->read);
    if (result.roofline->int8) {
      add("int8 " + result.roofline->instruction, "op", *result.roofline->int8);
    }
  }

  static std::string Line(const std::string& model, const std::string& size,
                          const std::string& parameters, const std::string& backend,
                          const std::string& threads, const std::string& test,
                          const std::string& speed) {
    return fmt::format("| {:<30} | {:>10} | {:>10} | {:<10} | {:>7} | {:>15} | {:>20} |\n", model,
                       size, parameters, backend, threads, test, speed);
  }

  std::string roofline_rows_;  // a second table, so that the first stays llama-bench's
};

class JsonReport final : public BenchReport {
 public:
  std::string Begin() const override { return "[\n"; }
  std::string Row(const BenchResult& result) override {
    const std::string separator = row_count_++ == 0 ? "" : ",\n";
    return separator + BenchRecord(result).dump(2);
  }
  std::string End() const override { return "\n]\n"; }

 private:
  uint32_t row_count_ = 0;
};

class JsonLinesReport final : public BenchReport {
 public:
  std::string Begin() const override { return ""; }
  std::string Row(const BenchResult& result) override { return BenchRecord(result).dump() + "\n"; }
  std::string End() const override { return ""; }
};

}  // namespace

std::vector<double> BenchResult::TokensPerSecond() const {
  const auto tokens = static_cast<double>(test.TimedTokens());
  std::vector<double> speeds;
  for (const uint64_t ns : samples) speeds.push_back(1e9 * tokens / static_cast<double>(ns));
  return speeds;
}

double BenchResult::MeanTokensPerSecond() const { return MeanAndSd(TokensPerSecond()).mean; }

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
