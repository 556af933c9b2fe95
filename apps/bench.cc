// `weir bench`: prefill and decode speed, as llama-bench measures them (no tokenising, no
// sampling).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>

#include "bench_model.h"
#include "bench_plan.h"
#include "bench_report.h"
#include "bench_roofline.h"
#include "bench_run.h"
#include "command.h"
#include "loaded_model.h"
#include "machine_limits.h"
#include "model/kv_shape.h"
#include "model_options.h"
#include "model_work.h"
#include "number_list.h"
#include "progress_bar.h"

namespace weir {
namespace {

struct Options {
  std::vector<std::string> models;
  BenchPlan plan;
  std::string threads;
  uint32_t repetitions = 5;
  uint32_t chunk_tokens = 512;
  std::string format = "md";
  ConfigOverrides overrides;
  std::string isa;
  bool no_warmup = false;
  bool roofline = false;
};

// Before anything is measured: the memory of each test, by the model's header.
Result<void> CheckFits(const std::string& path, const ConfigOverrides& overrides,
                       std::span<const BenchTest> tests) {
  const auto file = WEIR_TRY(GgufFile::OpenMetadata(path));
  const auto keys = WEIR_TRY(ConfigKeys::Create(file, overrides));
  const KvLayout layout = LayoutOf(WEIR_TRY(ReadKvShape(keys)), KvFormat::kF16);
  for (const BenchTest& test : tests) {
    const auto budget = BudgetFor(
        layout, {.sequence_count = test.sequence_count, .tokens_each = test.TokensEach()});
    if (budget) continue;
    return Fail(budget.error().code, fmt::format("{}: {}", test.Name(), budget.error().message));
  }
  return {};
}

Result<void> WarmUp(Model& model, BenchTest test, uint32_t chunk_tokens) {
  test.answer_tokens = std::min(test.answer_tokens, 1U);
  test.depth = 0;
  BenchRun run = WEIR_TRY(BenchRun::Create(model, test, chunk_tokens));
  WEIR_TRY(run.Once());
  return {};
}

Result<BenchResult> Measure(Model& model, const BenchTest& test, const Options& options) {
  BenchResult result;
  result.test = test;
  result.chunk_tokens = options.chunk_tokens;
  BenchRun run = WEIR_TRY(BenchRun::Create(model, test, options.chunk_tokens));
  ProgressBar bar(test.Name());
  if (!options.no_warmup) {
    bar.Update(0, "warming up");
    WEIR_TRY(WarmUp(model, test, options.chunk_tokens));
  }
  result.started_at = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  for (uint32_t i = 0; i < options.repetitions; ++i) {
    bar.Update(double{1} * i / options.repetitions,
               fmt::format("{} of {}", i, options.repetitions));
    const BenchTimes times = WEIR_TRY(run.Once());
    result.samples.push_back(times.test_ns);
    result.depth_samples.push_back(times.depth_ns);
  }
  return result;
}

void Print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

// All rows of one model with one number of threads.
Result<void> BenchModelAt(const std::string& path, uint32_t thread_count,
                          std::span<const BenchTest> tests, const Options& options,
                          BenchReport& report) {
  ModelOptions model_options;
  model_options.model = path;
  model_options.threads = thread_count;
  model_options.isa = options.isa;
  model_options.overrides = options.overrides;
  const auto loaded = WEIR_TRY(LoadModel(model_options));
  const BenchModel description = WEIR_TRY(DescribeModel(*loaded));
  std::optional<MachineLimits> limits;
  if (options.roofline) limits = MeasureLimits(*loaded->threads, loaded->model.weight_bytes());
  for (const BenchTest& test : tests) {
    BenchResult result = WEIR_TRY(Measure(loaded->model, test, options));
    result.model = description;
    result.threads = loaded->threads->thread_count();
    if (limits) {
      const ModelWork work = WorkOf(loaded->file, loaded->model.config());
      result.roofline = HoldAgainst(*limits, work, test, result.MeanTokensPerSecond());
    }
    Print(report.Row(result));
  }
  return {};
}

Result<void> Run(const Options& options) {
  const auto tests = WEIR_TRY(ListTests(options.plan));
  std::vector<uint32_t> threads = {0};
  if (!options.threads.empty()) threads = WEIR_TRY(ParseNumberList("-t", options.threads));
  const auto report = WEIR_TRY(BenchReport::Create(options.format));
  for (const std::string& path : options.models) {
    WEIR_TRY(CheckFits(path, options.overrides, tests));
  }
  Print(report->Begin());
  for (const std::string& path : options.models) {
    for (const uint32_t thread_count : threads) {
      WEIR_TRY(BenchModelAt(path, thread_count, tests, options, *report));
    }
  }
  Print(report->End());
  return {};
}

}  // namespace

Command MakeBenchCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-m,--model", options->models, "Model files")
      ->option_text("GGUF,...")
      ->delimiter(',')
      ->required();
  app.add_option("-p,--n-prompt", options->plan.prompt_tokens, "Prefill lengths; 0: none [512]")
      ->option_text("N,...");
  app.add_option("-n,--n-gen", options->plan.answer_tokens, "Decode lengths; 0: none [128]")
      ->option_text("N,...");
  app.add_option("--pg", options->plan.prompt_and_answer, "Prefill and decode in one")
      ->option_text("PP,TG")
      ->allow_extra_args(false);
  app.add_option("-d,--n-depth", options->plan.depths, "Tokens in the sequence before [0]")
      ->option_text("N,...");
  app.add_option("--npl", options->plan.sequence_counts,
                 "Sequences that decode in one step; t/s of all [1]")
      ->option_text("N,...");
  app.add_option("-t,--threads", options->threads, "Compute threads [all cores]")
      ->option_text("N,...");
  app.add_option("-r,--repetitions", options->repetitions, "Runs of each test [5]")
      ->option_text("N")
      ->check(CLI::Range(1, 10000));
  app.add_option("--ub,--ubatch-size", options->chunk_tokens, "Prefill positions a step [512]")
      ->option_text("N")
      ->check(CLI::Range(1, 16384));
  app.add_option("-o,--output", options->format, "md, json or jsonl [md]")->option_text("FORMAT");
  AddWindowOption(app, options->overrides);
  AddIsaOption(app, options->isa);
  app.add_flag("--no-warmup", options->no_warmup, "Skip the run before the first measured one");
  app.add_flag("--roofline", options->roofline,
               "Measure this machine's limits and what each row reaches of them");
  return [options] { return Run(*options); };
}

}  // namespace weir
