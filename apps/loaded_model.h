// From the flags of a command to a model in memory and pools for its KV.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "engine/engine.h"
#include "kv/kv_cache.h"
#include "model/gguf.h"
#include "model/model.h"
#include "model_options.h"
#include "text/tokenizer.h"

namespace weir {

// Members borrow from those above them.
struct LoadedModel {
  std::string id;  // the file's name without ".gguf"
  std::unique_ptr<ThreadPool> threads;
  GgufFile file;
  Model model;
  uint32_t file_window = 0;  // W as the file says, whatever the options; 0: no window group
};

// Maps the file, packs the weights; a progress bar meanwhile.
[[nodiscard]] Result<std::unique_ptr<LoadedModel>> LoadModel(const ModelOptions& options);

// The tokenizer of the file. kCorrupt if it makes tokens that the model does not have.
[[nodiscard]] Result<Tokenizer> LoadTokenizer(const LoadedModel& loaded);

struct KvMemory {
  std::unique_ptr<KvCache> cache;
  uint32_t context_tokens = 0;
};

// Pools within the budget of the options, and the context: as asked for, else the smaller of the
// model's and what the pools hold. kInvalidArgument, with both numbers, when the context asked for
// does not fit or the budget is above the machine's memory.
[[nodiscard]] Result<KvMemory> ReserveKv(const LoadedModel& loaded, const ModelOptions& options,
                                         uint32_t chunk_tokens, uint32_t max_sequences = 1);

// Sequences of `tokens_each` positions, read in chunks of `chunk_tokens` one at a time; each may
// decode a row in one step with the others.
struct KvNeed {
  uint32_t sequence_count = 1;
  uint64_t tokens_each = 0;
  uint32_t chunk_tokens = 0;
};

// What pools that hold them, no more, take; kInvalidArgument as above.
[[nodiscard]] Result<KvBudget> BudgetFor(const KvLayout& layout, const KvNeed& need);

// These pools.
[[nodiscard]] Result<std::unique_ptr<KvCache>> ReserveKvFor(const KvLayout& layout,
                                                            const KvNeed& need);

// Of the KV that this model computes in these pools; for EngineOptions.
[[nodiscard]] std::string CacheFingerprint(const LoadedModel& loaded, const ModelOptions& options);

// One line for the start: model, ISA path, threads, context, KV budget by pool.
[[nodiscard]] std::string DescribeStart(const LoadedModel& loaded, const KvMemory& memory);

}  // namespace weir
