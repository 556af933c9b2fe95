#include "loaded_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/byte_count.h"
#include "gguf_vocabulary.h"
#include "machine.h"
#include "model/fingerprint.h"
#include "model/kv_shape.h"
#include "progress_bar.h"
#include "simd/isa.h"

namespace weir {
namespace {

Result<uint32_t> ChooseContext(const LoadedModel& loaded, const ModelOptions& options,
                               const KvCache& cache, uint64_t budget_bytes) {
  const uint32_t trained = loaded.model.config().context_length;
  const uint64_t held = cache.MaxSequenceTokens();
  if (options.context_tokens == 0) return static_cast<uint32_t>(std::min<uint64_t>(trained, held));
  if (options.context_tokens > held) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a context of {} tokens does not fit: {} of KV memory hold {}; lower "
                            "--ctx or raise --kv-memory",
                            options.context_tokens, FormatByteCount(budget_bytes), held));
  }
  if (options.context_tokens > trained) {
    fmt::print(stderr, "weir: context {} is beyond the {} that the model was trained for\n",
               options.context_tokens, trained);
  }
  return options.context_tokens;
}

Result<uint32_t> WindowOfFile(const GgufFile& file) {
  const auto keys = WEIR_TRY(ConfigKeys::Create(file));
  return WEIR_TRY(ReadKvShape(keys)).window.window;
}

// Pools are allocated at once, and the system would promise more than it has.
Result<void> CheckMachineHolds(uint64_t kv_bytes) {
  const uint64_t memory_bytes = Machine().MemoryBytes();
  if (memory_bytes == 0 || kv_bytes <= memory_bytes) return {};
  return Fail(ErrorCode::kInvalidArgument,
              fmt::format("{} of KV memory are above the {} of memory that this process may use",
                          FormatByteCount(kv_bytes), FormatByteCount(memory_bytes)));
}

}  // namespace

Result<std::unique_ptr<LoadedModel>> LoadModel(const ModelOptions& options) {
  WEIR_TRY(ApplyIsa(options));
  GgufFile file = WEIR_TRY(GgufFile::Open(options.model));
  auto threads = std::make_unique<ThreadPool>(ThreadCount(options));
  ProgressBar bar("loading");
  const auto progress = [&](double fraction) { bar.Update(fraction); };
  Model model = WEIR_TRY(Model::Load(file, *threads, progress, options.overrides));
  const uint32_t file_window = WEIR_TRY(WindowOfFile(file));
  if (const auto& window = model.config().window; window && window->window != file_window) {
    fmt::print(stderr,
               "weir: window {} instead of the model's {}: the model was not trained for it, and "
               "answers may be worse\n",
               window->window, file_window);
  }
  return std::unique_ptr<LoadedModel>(
      new LoadedModel{.id = std::filesystem::path(options.model).stem().string(),
                      .threads = std::move(threads),
                      .file = std::move(file),
                      .model = std::move(model),
                      .file_window = file_window});
}

Result<Tokenizer> LoadTokenizer(const LoadedModel& loaded) {
  Vocabulary vocabulary = WEIR_TRY(ReadVocabulary(loaded.file));
  Tokenizer tokenizer = WEIR_TRY(Tokenizer::Create(std::move(vocabulary)));
  const uint32_t model_tokens = loaded.model.config().vocab_size;
  if (tokenizer.vocab_size() > model_tokens) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{}: the tokenizer has {} tokens, the model {}", loaded.file.path(),
                            tokenizer.vocab_size(), model_tokens));
  }
  return tokenizer;
}

Result<KvMemory> ReserveKv(const LoadedModel& loaded, const ModelOptions& options,
                           uint32_t chunk_tokens, uint32_t max_sequences) {
  const KvLayout layout = loaded.model.config().Layout(options.kv_format);
  const uint64_t budget_bytes = WEIR_TRY(KvBudgetBytes(options));
  WEIR_TRY(CheckMachineHolds(budget_bytes));
  const uint32_t context =
      options.context_tokens > 0 ? options.context_tokens : loaded.model.config().context_length;
  const KvBudget budget = WEIR_TRY(SplitBudget(layout, budget_bytes,
                                               {.sequences = max_sequences,
                                                .context_tokens = context,
                                                .window_share = options.kv_window_share}));
  KvMemory memory;
  memory.cache = std::make_unique<KvCache>(layout, budget, chunk_tokens, max_sequences);
  memory.context_tokens = WEIR_TRY(ChooseContext(loaded, options, *memory.cache, budget_bytes));
  return memory;
}

Result<KvBudget> BudgetFor(const KvLayout& layout, const KvNeed& need) {
  KvBudget one{.full_bytes = layout.FullBytes(need.tokens_each)};
  if (layout.window) {
    one.window_bytes = layout.window->max_window_tiles() * layout.window->tile_bytes();
  }
  const uint64_t bytes = one.full_bytes + one.window_bytes;
  const uint64_t count = need.sequence_count;
  WEIR_TRY(CheckMachineHolds(bytes <= UINT64_MAX / count ? count * bytes : UINT64_MAX));
  return KvBudget{.full_bytes = count * one.full_bytes, .window_bytes = count * one.window_bytes};
}

Result<std::unique_ptr<KvCache>> ReserveKvFor(const KvLayout& layout, const KvNeed& need) {
  const KvBudget budget = WEIR_TRY(BudgetFor(layout, need));
  return std::make_unique<KvCache>(layout, budget, need.chunk_tokens, need.sequence_count);
}

std::string CacheFingerprint(const LoadedModel& loaded, const ModelOptions& options) {
  const ModelConfig& config = loaded.model.config();
  return Fingerprint(loaded.file, config, config.Layout(options.kv_format), ChosenIsa());
}

std::string DescribeStart(const LoadedModel& loaded, const KvMemory& memory) {
  const auto bytes_of = [](const TilePool* pool) {
    return pool == nullptr ? std::string("none") : FormatByteCount(pool->bytes());
  };
  return fmt::format("{} ({}, {}), {} path, {} threads, context {}, KV memory: full {}, window {}",
                     loaded.id, loaded.model.config().architecture,
                     FormatByteCount(loaded.model.weight_bytes()), NameOf(ChosenIsa()),
                     loaded.threads->thread_count(), memory.context_tokens,
                     bytes_of(memory.cache->full_pool()), bytes_of(memory.cache->window_pool()));
}

}  // namespace weir
