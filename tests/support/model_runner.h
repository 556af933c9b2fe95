// Runs a tiny model of tests/golden/models on token sequences, in any chunks and threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/gguf.h"
#include "model/model.h"

namespace weir::testing {

inline std::string GoldenModelPath(const std::string& name) {
  return std::string(WEIR_GOLDEN_DIR) + "/models/" + name;
}

// A test cannot go on without: prints the error and stops.
template <class T>
T OrStop(Result<T> result) {
  if (!result) {
    ADD_FAILURE() << result.error().message;
    std::abort();
  }
  return std::move(result).Take();
}

// A pool and a cache that holds `sequences` sequences of `tokens` positions.
class ModelRunner {
 public:
  struct Options {
    uint32_t threads = 1;
    uint32_t tokens = 2048;
    uint32_t max_chunk_tokens = 2048;
    uint32_t sequences = 1;
    KvFormat format = KvFormat::kF16;
  };

  ModelRunner(const std::string& path, const Options& options)
      : ModelRunner(OrStop(GgufFile::Open(path)), options) {}
  ModelRunner(const GgufFile& file, const Options& options, const ConfigOverrides& overrides = {})
      : pool_(options.threads), model_(OrStop(Model::Load(file, pool_, nullptr, overrides))) {
    const KvLayout layout = model_.config().Layout(options.format);
    KvBudget budget;
    budget.full_bytes = options.sequences * layout.FullBytes(options.tokens + 128);
    budget.window_bytes = options.sequences * layout.WindowBytes(options.tokens + 128);
    cache_ = std::make_unique<KvCache>(layout, budget, options.max_chunk_tokens);
  }

  Model& model() { return model_; }
  KvCache& cache() { return *cache_; }
  [[nodiscard]] uint32_t vocab_size() const { return model_.config().vocab_size; }

  // Logits of every position of a new sequence, [tokens, vocabulary]. `chunks` are used in turn,
  // again and again.
  std::vector<float> Logits(std::span<const TokenId> tokens, std::span<const uint32_t> chunks) {
    SequenceView view(*cache_);
    std::vector<float> logits;
    for (size_t begin = 0, turn = 0; begin < tokens.size(); ++turn) {
      const size_t count = std::min<size_t>(chunks[turn % chunks.size()], tokens.size() - begin);
      KvChunk chunk = OrStop(view.BeginChunk(static_cast<uint32_t>(count)));
      const ForwardSegment segment{
          .chunk = &chunk, .tokens = tokens.subspan(begin, count), .logits = LogitsWanted::kAll};
      const auto rows = model_.Forward(std::span(&segment, 1));
      logits.insert(logits.end(), rows.begin(), rows.end());
      view.Commit(std::move(chunk));
      begin += count;
    }
    return logits;
  }

 private:
  ThreadPool pool_;
  Model model_;
  std::unique_ptr<KvCache> cache_;
};

}  // namespace weir::testing
