// `weir run`: one completion to standard output.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "command.h"
#include "loaded_model.h"
#include "local_answer.h"
#include "progress_bar.h"
#include "sampling_options.h"
#include "text/utf8_stream.h"

namespace weir {
namespace {

constexpr uint32_t kChunkTokens = 512;

struct Options {
  ModelOptions model;
  SamplingOptions sampling;
  std::string prompt;
  int64_t max_tokens = 128;
  bool ignore_eos = false;
};

Result<void> Run(const Options& options) {
  const SamplingParams sampling = WEIR_TRY(ResolveSampling(options.sampling));
  const auto loaded = WEIR_TRY(LoadModel(options.model));
  const Tokenizer tokenizer = WEIR_TRY(LoadTokenizer(*loaded));
  KvMemory memory = WEIR_TRY(ReserveKv(*loaded, options.model, kChunkTokens));
  if (StderrIsTerminal()) fmt::print(stderr, "{}\n", DescribeStart(*loaded, memory));
  Engine engine(loaded->model, std::move(memory.cache),
                {.context_tokens = memory.context_tokens,
                 .chunk_tokens = kChunkTokens,
                 .max_sequences = 1,
                 .cache_fingerprint = CacheFingerprint(*loaded, options.model)});

  GenerationRequest request;
  request.prompt = tokenizer.Encode(options.prompt, SpecialTokens::kAsText, AddBos::kAsModelWants);
  request.sampling = sampling;
  request.max_tokens = AnswerLength(options.max_tokens);
  request.ignore_eos = options.ignore_eos;
  request.end_tokens = tokenizer.end_tokens();
  Utf8Stream text;
  const auto print = [&](TokenId token) {
    fmt::print("{}", text.Push(tokenizer.Piece(token, SpecialTokens::kAsText)));
    std::fflush(stdout);
    return true;
  };
  const LocalAnswer answer = WEIR_TRY(AnswerLocally(engine, std::move(request), {}, print));
  fmt::print("{}\n", text.Finish());
  if (StderrIsTerminal()) fmt::print(stderr, "{}\n", answer.timing.Text());
  return {};
}

}  // namespace

Command MakeRunCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  AddModelOptions(app, options->model);
  app.add_option("-p,--prompt", options->prompt, "Text to continue")
      ->option_text("TEXT")
      ->required();
  AddAnswerLengthOption(app, options->max_tokens);
  app.add_flag("--ignore-eos", options->ignore_eos, "Go on where the model would end");
  AddSamplingOptions(app, options->sampling);
  return [options] { return Run(*options); };
}

}  // namespace weir
