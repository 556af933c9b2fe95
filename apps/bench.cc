// `weir bench`: prefill and decode speed, as llama-bench measures them (no tokenising, no
// sampling).
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <random>

#include "bench_report.h"
#include "command.h"
#include "loaded_model.h"
#include "number_list.h"
#include "progress_bar.h"
#include "sequence_run.h"

namespace weir {
namespace {

struct Options {
  std::vector<std::string> models;
  std::string prompt_tokens = "512";
  std::string answer_tokens = "128";
  std::string depths = "0";
  std::string threads;
  std::vector<std::string> prompt_and_answer;  // "512,128"
  uint32_t repetitions = 5;
  uint32_t chunk_tokens = 512;
  std::string format = "md";
  std::string isa;
  bool no_warmup = false;
};

// What is measured on each model, in llama-bench's order.
Result<std::vector<BenchTest>> ListTests(const Options& options) {
  std::vector<BenchTest> tests;
  for (const uint32_t depth : WEIR_TRY(ParseNumberList("-d", options.depths))) {
    for (const uint32_t count : WEIR_TRY(ParseNumberList("-p", options.prompt_tokens))) {
      if (count > 0) tests.push_back({.prompt_tokens = count, .depth = depth});
    }
    for (const uint32_t count : WEIR_TRY(ParseNumberList("-n", options.answer_tokens))) {
      if (count > 0) tests.push_back({.answer_tokens = count, .depth = depth});
    }
    for (const std::string& pair : options.prompt_and_answer) {
      const auto counts = WEIR_TRY(ParseNumberList("--pg", pair));
      if (counts.size() != 2 || counts[0] == 0 || counts[1] == 0) {
        return Fail(ErrorCode::kInvalidArgument,
                    fmt::format("--pg: '{}' is no pair like 512,128", pair));
      }
      tests.push_back({.prompt_tokens = counts[0], .answer_tokens = counts[1], .depth = depth});
    }
  }
  if (tests.empty()) return Fail(ErrorCode::kInvalidArgument, "nothing to measure: -p or -n");
  return tests;
}

// llama.cpp's names of general.file_type.
std::string_view FileTypeName(uint64_t type) {
  switch (type) {
    case 0:
      return "all F32";
    case 1:
      return "F16";
    case 2:
      return "Q4_0";
    case 3:
      return "Q4_1";
    case 7:
      return "Q8_0";
    case 8:
      return "Q5_0";
    case 9:
      return "Q5_1";
    case 14:
      return "Q4_K - Small";
    case 15:
      return "Q4_K - Medium";
    case 16:
      return "Q5_K - Small";
    case 17:
      return "Q5_K - Medium";
    case 18:
      return "Q6_K";
    case 32:
      return "BF16";
    default:
      return "";
  }
}

Result<BenchModel> Describe(const LoadedModel& loaded) {
  BenchModel model{.path = loaded.file.path(), .type = loaded.model.config().architecture};
  const auto label = WEIR_TRY(loaded.file.String("general.size_label"));
  if (label) model.type += fmt::format(" {}", *label);
  const auto type = WEIR_TRY(loaded.file.Unsigned("general.file_type"));
  if (type && !FileTypeName(*type).empty()) model.type += fmt::format(" {}", FileTypeName(*type));
  for (const GgufTensor& tensor : loaded.file.tensors()) {
    model.bytes += tensor.bytes.size();
    uint64_t elements = 1;
    for (const uint64_t extent : tensor.shape) elements *= extent;
    model.parameters += elements;
  }
  return model;
}

class Bench {
 public:
  static Result<Bench> Create(Model& model, const BenchTest& test, uint32_t chunk_tokens) {
    const uint64_t tokens = uint64_t{test.depth} + test.prompt_tokens + test.answer_tokens;
    const KvLayout layout = model.config().Layout(KvFormat::kF16);
    return Bench(model, test, WEIR_TRY(ReserveKvForOne(layout, tokens, chunk_tokens)));
  }

  // Nanoseconds of the test itself; the depth is read before and not counted.
  Result<uint64_t> Run() {
    SequenceRun run(model_, *cache_);
    WEIR_TRY(run.Read(std::span(tokens_).first(test_.depth)));
    const auto begin = std::chrono::steady_clock::now();
    if (test_.prompt_tokens > 0) WEIR_TRY(Prefill(run));
    for (uint32_t i = 0; i < test_.answer_tokens; ++i) {
      WEIR_TRY(run.Step(std::span(tokens_).subspan(i, 1), LogitsWanted::kLast));
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    return static_cast<uint64_t>(std::chrono::nanoseconds(took).count());
  }

 private:
  Bench(Model& model, const BenchTest& test, std::unique_ptr<KvCache> cache)
      : model_(model),
        test_(test),
        cache_(std::move(cache)),
        tokens_(std::max({test.depth, test.prompt_tokens, test.answer_tokens})) {
    std::mt19937 random(1);
    for (TokenId& token : tokens_) {
      token = TokenId(static_cast<int32_t>(random() % model.config().vocab_size));
    }
  }

  Result<void> Prefill(SequenceRun& run) {
    for (uint32_t begin = 0; begin < test_.prompt_tokens;) {
      const uint32_t count = std::min(cache_->max_chunk_tokens(), test_.prompt_tokens - begin);
      const bool is_last = begin + count == test_.prompt_tokens;
      WEIR_TRY(run.Step(std::span(tokens_).subspan(begin, count),
                        is_last ? LogitsWanted::kLast : LogitsWanted::kNone));
      begin += count;
    }
    return {};
  }

  Model& model_;
  BenchTest test_;
  std::unique_ptr<KvCache> cache_;
  std::vector<TokenId> tokens_;
};

Result<BenchResult> Measure(Model& model, const BenchTest& test, const Options& options) {
  BenchResult result;
  result.test = test;
  result.chunk_tokens = options.chunk_tokens;
  Bench bench = WEIR_TRY(Bench::Create(model, test, options.chunk_tokens));
  ProgressBar bar(test.Name());
  if (!options.no_warmup) {
    bar.Update(0, "warming up");
    const BenchTest warmup{.prompt_tokens = test.prompt_tokens,
                           .answer_tokens = std::min(test.answer_tokens, 1U)};
    Bench short_bench = WEIR_TRY(Bench::Create(model, warmup, options.chunk_tokens));
    WEIR_TRY(short_bench.Run());
  }
  result.started_at = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  for (uint32_t i = 0; i < options.repetitions; ++i) {
    bar.Update(double{1} * i / options.repetitions,
               fmt::format("{} of {}", i, options.repetitions));
    result.samples.push_back(WEIR_TRY(bench.Run()));
  }
  return result;
}

void Print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

Result<void> Run(const Options& options) {
  const auto tests = WEIR_TRY(ListTests(options));
  std::vector<uint32_t> threads = {0};
  if (!options.threads.empty()) threads = WEIR_TRY(ParseNumberList("-t", options.threads));
  const auto report = WEIR_TRY(BenchReport::Create(options.format));
  Print(report->Begin());
  for (const std::string& path : options.models) {
    for (const uint32_t thread_count : threads) {
      ModelOptions model_options;
      model_options.model = path;
      model_options.threads = thread_count;
      model_options.isa = options.isa;
      const auto loaded = WEIR_TRY(LoadModel(model_options));
      const BenchModel description = WEIR_TRY(Describe(*loaded));
      for (const BenchTest& test : tests) {
        BenchResult result = WEIR_TRY(Measure(loaded->model, test, options));
        result.model = description;
        result.threads = loaded->threads->thread_count();
        Print(report->Row(result));
      }
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
  app.add_option("-p,--n-prompt", options->prompt_tokens, "Prefill lengths; 0: none [512]")
      ->option_text("N,...");
  app.add_option("-n,--n-gen", options->answer_tokens, "Decode lengths; 0: none [128]")
      ->option_text("N,...");
  app.add_option("--pg", options->prompt_and_answer, "Prefill and decode in one")
      ->option_text("PP,TG")
      ->allow_extra_args(false);
  app.add_option("-d,--n-depth", options->depths, "Tokens in the sequence before [0]")
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
  app.add_option("--isa", options->isa, "scalar, avx2 or avx512 [the best there is]")
      ->option_text("NAME");
  app.add_flag("--no-warmup", options->no_warmup, "Skip the run before the first measured one");
  return [options] { return Run(*options); };
}

}  // namespace weir
