// `weir bench-serve`: load on any OpenAI-compatible server, and how long its clients wait.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "command.h"
#include "load/completion_client.h"
#include "load/load_plan.h"
#include "load/load_report.h"
#include "load/load_runner.h"
#include "progress_bar.h"
#include "sim/trace_folder.h"

namespace weir {
namespace {

struct Options {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  std::string model;
  std::string endpoint = "chat";
  double temperature = 0;
  double timeout_s = 600;

  uint32_t clients = 0;  // 0: 1, but a trace's own times
  uint64_t requests = 16;
  std::string prompt = "512";
  uint32_t answer_tokens = 64;
  double rate_per_s = 0;
  uint32_t shared_tokens = 0;
  std::string mix;
  uint32_t conversations = 0;
  uint32_t turns = 4;
  uint32_t first_tokens = 0;
  std::string trace;
  TraceLoad trace_load{.limit = 1000};

  uint64_t seed = 1;
  std::string json;
  bool records = false;
};

Result<LoadTarget> TargetOf(const Options& options) {
  LoadTarget target{.url = WEIR_TRY(ParseServerUrl(options.url)),
                    .api_key = options.api_key,
                    .model = options.model,
                    .temperature = options.temperature};
  target.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.timeout_s * 1e3));
  target.endpoint = options.endpoint == "chat" ? Endpoint::kChat : Endpoint::kCompletions;
  return target;
}

Result<LoadPlan> PlanOfTrace(const Options& options) {
  const std::vector<Trace> traces = WEIR_TRY(ReadTraces(options.trace, {}));
  if (traces.size() > 1) {
    std::string names;
    for (const Trace& trace : traces) names += fmt::format(" {}", trace.name);
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--trace: {} has {} traces ({} ); name one file or folder of one",
                            options.trace, traces.size(), names));
  }
  TraceLoad load = options.trace_load;
  load.clients = options.clients;
  load.seed = options.seed;
  return PlanTrace(traces[0], load);
}

Result<LoadPlan> PlanOfMix(const Options& options) {
  const std::string mix = !options.mix.empty() ? options.mix
                                               : fmt::format("{}x{}:{}", options.requests,
                                                             options.prompt, options.answer_tokens);
  return PlanMix({.mix = WEIR_TRY(ParseMix(mix)),
                  .clients = std::max(options.clients, 1U),
                  .rate_per_s = options.rate_per_s,
                  .shared_tokens = options.shared_tokens,
                  .seed = options.seed});
}

Result<LoadPlan> PlanOfConversations(const Options& options) {
  const auto length =
      WEIR_TRY(ParseMix(fmt::format("1x{}:{}", options.prompt, options.answer_tokens)))[0];
  if (length.prompt_tokens_min != length.prompt_tokens_max) {
    return Fail(ErrorCode::kInvalidArgument,
                "--prompt: questions of conversations have one length");
  }
  const uint32_t tokens = length.prompt_tokens_min;
  return PlanConversations(
      {.conversations = options.conversations,
       .turns = options.turns,
       .first_tokens = options.first_tokens > 0 ? options.first_tokens : tokens,
       .prompt_tokens = tokens,
       .answer_tokens = options.answer_tokens,
       .clients = std::max(options.clients, 1U),
       .seed = options.seed});
}

Result<LoadPlan> PlanOf(const Options& options) {
  if (!options.trace.empty()) return PlanOfTrace(options);
  if (options.conversations > 0) return PlanOfConversations(options);
  return PlanOfMix(options);
}

std::string DescribePlan(const LoadPlan& plan, const Calibration& calibration) {
  const std::string shape = plan.clients > 0
                                ? fmt::format("{} clients", plan.clients)
                                : fmt::format("arrivals over {:.1f} s",
                                              plan.scripts.empty() ? 0 : plan.scripts.back().at_s);
  return fmt::format("{} requests, {}; {:.3f} words a token and {:.0f} tokens around a prompt\n",
                     plan.TurnCount(), shape, calibration.words_per_token,
                     calibration.overhead_tokens);
}

Result<void> WriteJson(const Options& options, const LoadPlan& plan, const Calibration& calibration,
                       const LoadResult& result, const LoadSummary& summary) {
  LoadJson json = SummaryJson(summary);
  json["url"] = options.url;
  json["seed"] = options.seed;
  json["clients"] = plan.clients;
  json["planned"] = result.planned;
  json["interrupted"] = result.was_interrupted;
  json["calibration"] = {{"words_per_token", calibration.words_per_token},
                         {"overhead_tokens", calibration.overhead_tokens}};
  if (options.records) json["records"] = RecordsJson(result.records, plan.classes);
  std::ofstream file(options.json);
  file << json.dump(1, ' ', false, LoadJson::error_handler_t::replace) << "\n";
  file.close();
  if (file) return {};
  return Fail(ErrorCode::kIo, fmt::format("{}: cannot be written", options.json));
}

Result<void> Run(const Options& options) {
  const LoadPlan plan = WEIR_TRY(PlanOf(options));
  const LoadTarget target = WEIR_TRY(TargetOf(options));
  const CompletionClient client = WEIR_TRY(CompletionClient::Create(target));
  const Calibration calibration = WEIR_TRY(MeasureCalibration(client, options.seed));
  fmt::print(stderr, "{}", DescribePlan(plan, calibration));
  LoadResult result;
  {
    ProgressBar bar("load");
    result = RunLoad(plan, client, calibration, [&](const LoadProgress& now) {
      const double fraction = static_cast<double>(now.done) / static_cast<double>(now.planned);
      bar.Update(fraction, fmt::format("{} of {}, {} under way, {} failed", now.done, now.planned,
                                       now.under_way, now.failed));
    });
  }
  const LoadSummary summary = Summarize(result.records, plan.classes, result.seconds);
  fmt::print("{}", LoadTable(summary));
  if (result.was_interrupted) {
    fmt::print("interrupted after {} of {} requests\n", summary.total.requests, result.planned);
  }
  if (!options.json.empty()) {
    WEIR_TRY(WriteJson(options, plan, calibration, result, summary));
  }
  if (summary.total.failed == summary.total.requests) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("none of {} requests was answered", summary.total.requests));
  }
  return {};
}

void AddServerOptions(CLI::App& app, Options& options) {
  app.add_option("--url", options.url, "The server [http://127.0.0.1:8080]")->option_text("URL");
  app.add_option("--api-key", options.api_key, "Sent as a bearer token")->option_text("KEY");
  app.add_option("--model", options.model, "Sent as the model's name [none]")->option_text("NAME");
  app.add_option("--endpoint", options.endpoint, "chat or completions [chat]")
      ->option_text("NAME")
      ->check(CLI::IsMember({"chat", "completions"}));
  app.add_option("--temperature", options.temperature, "[0]")
      ->option_text("X")
      ->check(CLI::Range(0.0, 2.0));
  app.add_option("--timeout", options.timeout_s, "For a request [600]")
      ->option_text("SECONDS")
      ->check(CLI::Range(0.001, 86400.0));
}

void AddLengthOptions(CLI::App& app, Options& options) {
  auto* requests = app.add_option("--requests", options.requests, "Requests in all [16]")
                       ->option_text("N")
                       ->check(CLI::Range(1, 10'000'000));
  app.add_option("--prompt", options.prompt, "Prompt tokens, or a range like 64-512 [512]")
      ->option_text("N");
  app.add_option("--answer", options.answer_tokens, "Answer tokens [64]")
      ->option_text("N")
      ->check(CLI::Range(1, 10'000'000));
  app.add_option("--mix", options.mix,
                 "Classes instead: [NAME=]COUNTxPROMPT:ANSWER,... in random order")
      ->option_text("CLASSES")
      ->excludes(requests);
  app.add_option("--shared-prefix", options.shared_tokens, "Tokens that all prompts begin with [0]")
      ->option_text("N");
}

void AddShapeOptions(CLI::App& app, Options& options) {
  auto* clients = app.add_option("--clients", options.clients,
                                 "Closed loop: each sends its next request after an answer [1]")
                      ->option_text("N")
                      ->check(CLI::Range(1, 100'000));
  auto* rate = app.add_option("--rate", options.rate_per_s, "Poisson arrivals instead")
                   ->option_text("PER_SECOND")
                   ->check(CLI::Range(1e-6, 1e6))
                   ->excludes(clients);
  auto* conversations = app.add_option("--conversations", options.conversations,
                                       "Conversations in turns, which send their history")
                            ->option_text("N")
                            ->check(CLI::Range(1, 1'000'000))
                            ->excludes(rate)
                            ->excludes("--mix")
                            ->excludes("--requests")
                            ->excludes("--shared-prefix");
  app.add_option("--turns", options.turns, "Of each conversation [4]")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(conversations);
  app.add_option("--first-prompt", options.first_tokens,
                 "Tokens of a conversation's first question")
      ->option_text("N")
      ->check(CLI::Range(1, 10'000'000))
      ->needs(conversations);
}

void AddTraceOptions(CLI::App& app, Options& options) {
  TraceLoad& load = options.trace_load;
  auto* trace = app.add_option("--trace", options.trace,
                               "Requests of a trace: Azure, Mooncake, Claude Code, agent texts")
                    ->option_text("FILE");
  for (const char* other : {"--rate", "--conversations", "--mix", "--requests", "--prompt",
                            "--answer", "--shared-prefix"}) {
    trace->excludes(other);
  }
  app.add_option("--time-scale", load.time_scale, "2: arrivals twice as far apart [1]")
      ->option_text("X")
      ->check(CLI::Range(0.0, 1e6))
      ->needs(trace);
  app.add_option("--token-scale", load.token_scale, "0.5: half the tokens [1]")
      ->option_text("X")
      ->check(CLI::Range(1e-6, 1e3))
      ->needs(trace);
  app.add_option("--limit", load.limit, "Only the trace's first requests [1000]")
      ->option_text("N")
      ->check(CLI::Range(1, 100'000'000))
      ->needs(trace);
  app.add_option("--longest", load.prompt_tokens_max, "Longer prompts of the trace are cut")
      ->option_text("TOKENS")
      ->check(CLI::Range(1, 100'000'000))
      ->needs(trace);
}

}  // namespace

Command MakeBenchServeCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddServerOptions(app, *options);
  AddLengthOptions(app, *options);
  AddShapeOptions(app, *options);
  AddTraceOptions(app, *options);
  app.add_option("--seed", options->seed, "Of texts, order and arrivals [1]")->option_text("N");
  auto* json = app.add_option("--json", options->json, "The figures as JSON")->option_text("FILE");
  app.add_flag("--records", options->records, "Every request in the JSON")->needs(json);
  return [options] { return Run(*options); };
}

}  // namespace weir
