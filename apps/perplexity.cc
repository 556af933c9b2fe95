// `weir perplexity`: perplexity of a text, by the method of llama-perplexity.
//
// The text's tokens are cut into windows of the context; each is read from an empty cache, its
// first token replaced by BOS if the model wants one, and the tokens after its first half are
// scored.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "base_file.h"
#include "command.h"
#include "loaded_model.h"
#include "model_options.h"
#include "perplexity_report.h"
#include "progress_bar.h"
#include "sequence_run.h"
#include "text_file.h"

namespace weir {
namespace {

// Rows of logits a step: 1 MiB each with Gemma's vocabulary.
constexpr uint32_t kScoredRows = 32;
constexpr uint32_t kChunkTokens = 512;

struct Options {
  ModelOptions model;
  std::string file;
  uint32_t context_tokens = 512;
  uint32_t chunks = 0;  // 0: all
  std::string base;
  std::string save_base;
};

// The windows to score: those of the base file, else of the text.
Result<BaseHeader> CutWindows(const Options& options, const Tokenizer& tokenizer,
                              uint32_t vocab_size) {
  if (options.file.empty()) return Fail(ErrorCode::kInvalidArgument, "-f: name a text file");
  const std::string text = WEIR_TRY(ReadTextFile(options.file));
  BaseHeader header;
  header.vocab_size = vocab_size;
  header.context_tokens = options.context_tokens;
  header.tokens = tokenizer.Encode(text, SpecialTokens::kAsText, AddBos::kAsModelWants);
  const size_t windows = header.tokens.size() / options.context_tokens;
  if (windows == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} tokens, fewer than one window of {}", options.file,
                            header.tokens.size(), options.context_tokens));
  }
  header.window_count = static_cast<uint32_t>(
      options.chunks == 0 ? windows : std::min<size_t>(windows, options.chunks));
  header.tokens.resize(uint64_t{header.window_count} * header.context_tokens);
  return header;
}

class Scorer {
 public:
  Scorer(Model& model, const Tokenizer& tokenizer, const BaseHeader& header, KvCache& cache)
      : model_(model), header_(header), cache_(cache) {
    const Vocabulary& vocabulary = tokenizer.vocabulary();
    if (vocabulary.add_bos) bos_ = vocabulary.bos;
  }

  // Calls score(logits, token that follows) for each scored position of a window.
  template <class Score>
  Result<void> Window(uint32_t index, const Score& score) {
    const uint32_t context = header_.context_tokens;
    const auto begin = header_.tokens.begin() + static_cast<ptrdiff_t>(index) * context;
    std::vector<TokenId> tokens(begin, begin + context);
    if (bos_) tokens[0] = *bos_;
    SequenceRun run(model_, cache_);
    WEIR_TRY(run.Read(std::span(tokens).first(context / 2)));
    for (uint32_t at = context / 2; at + 1 < context;) {
      const uint32_t count = std::min({kScoredRows, context - 1 - at, cache_.max_chunk_tokens()});
      const auto rows =
          WEIR_TRY(run.Step(std::span(tokens).subspan(at, count), LogitsWanted::kAll));
      const size_t vocab_size = rows.size() / count;
      for (uint32_t i = 0; i < count; ++i) {
        WEIR_TRY(score(rows.subspan(i * vocab_size, vocab_size), tokens[at + i + 1]));
      }
      at += count;
    }
    return {};
  }

 private:
  Model& model_;
  const BaseHeader& header_;
  KvCache& cache_;
  std::optional<TokenId> bos_;
};

Result<void> ScoreAll(Scorer& scorer, const BaseHeader& header, BaseReader* base,
                      BaseWriter* save) {
  PerplexityReport report(base != nullptr);
  const auto score = [&](std::span<const float> logits, TokenId target) -> Result<void> {
    if (base != nullptr) {
      const SavedRow saved = WEIR_TRY(base->Next(target));
      report.AddCompared(CompareRow(logits, target, saved), saved.target_logprob);
    } else {
      report.Add(LogprobOf(logits, target, 0).logprob);
    }
    if (save != nullptr) WEIR_TRY(save->Add(MakeSavedRow(logits, target)));
    return {};
  };
  ProgressBar bar("scoring");
  for (uint32_t window = 0; window < header.window_count; ++window) {
    bar.Update(double{1} * window / header.window_count,
               fmt::format("{} of {} windows", window, header.window_count));
    WEIR_TRY(scorer.Window(window, score));
    report.PrintRunning(window + 1);
  }
  report.PrintFinal();
  return {};
}

Result<void> Run(const Options& options) {
  std::optional<BaseReader> base;
  if (!options.base.empty()) base = WEIR_TRY(BaseReader::Open(options.base));
  const auto loaded = WEIR_TRY(LoadModel(options.model));
  const Tokenizer tokenizer = WEIR_TRY(LoadTokenizer(*loaded));
  const uint32_t vocab_size = loaded->model.config().vocab_size;
  BaseHeader header;
  if (base) {
    header = base->header();
    if (header.vocab_size != vocab_size) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is of a vocabulary of {} tokens, the model has {}", options.base,
                              header.vocab_size, vocab_size));
    }
    if (options.chunks != 0) header.window_count = std::min(header.window_count, options.chunks);
  } else {
    header = WEIR_TRY(CutWindows(options, tokenizer, vocab_size));
  }
  std::optional<BaseWriter> save;
  if (!options.save_base.empty()) {
    save = WEIR_TRY(BaseWriter::Create(options.save_base, header));
  }
  fmt::print(stderr, "{} windows of {} tokens, {} scored in each\n", header.window_count,
             header.context_tokens, header.RowsPerWindow());
  const auto cache =
      WEIR_TRY(ReserveKvFor(loaded->model.config().Layout(options.model.kv_format),
                            {.tokens_each = header.context_tokens,
                             .chunk_tokens = std::min(kChunkTokens, header.context_tokens)}));
  Scorer scorer(loaded->model, tokenizer, header, *cache);
  WEIR_TRY(ScoreAll(scorer, header, base ? &*base : nullptr, save ? &*save : nullptr));
  if (save) WEIR_TRY(save->Finish());
  return {};
}

}  // namespace

Command MakePerplexityCommand(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("-m,--model", options->model.model, "Model file")->option_text("GGUF")->required();
  app.add_option("-f,--file", options->file, "Text to score")->option_text("FILE");
  app.add_option("-c,--ctx", options->context_tokens, "Tokens of a window [512]")
      ->option_text("TOKENS")
      ->check(CLI::Range(4, 1 << 20));
  app.add_option("--chunks", options->chunks, "Score so many windows [all]")->option_text("N");
  app.add_option("-t,--threads", options->model.threads, "Compute threads [all cores]")
      ->option_text("N")
      ->check(CLI::Range(1, 1024));
  app.add_option("--base", options->base, "Compare with these rows: KL divergence, same top token")
      ->option_text("FILE");
  app.add_option("--save-base", options->save_base, "Save the rows for a later --base")
      ->option_text("FILE");
  AddWindowOption(app, options->model.overrides);
  AddKvFormatOption(app, options->model.kv_format);
  AddIsaOption(app, options->model.isa);
  return [options] { return Run(*options); };
}

}  // namespace weir
