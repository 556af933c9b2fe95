// One sequence driven by hand, without the engine: for scoring.
#pragma once

#include <algorithm>
#include <span>

#include "base/result.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/model.h"

namespace weir {

class SequenceRun {
 public:
  SequenceRun(Model& model, KvCache& cache) : model_(model), cache_(cache), view_(cache) {}

  // One step; at most max_chunk_tokens. The rows are valid until the next step of any run.
  [[nodiscard]] Result<std::span<const float>> Step(std::span<const TokenId> tokens,
                                                    LogitsWanted wanted) {
    KvChunk chunk = WEIR_TRY(view_.BeginChunk(static_cast<uint32_t>(tokens.size())));
    const ForwardSegment segment{.chunk = &chunk, .tokens = tokens, .logits = wanted};
    const auto rows = model_.Forward(std::span(&segment, 1));
    view_.Commit(std::move(chunk));
    return rows;
  }

  // Any number of tokens in the largest steps, no logits.
  [[nodiscard]] Result<void> Read(std::span<const TokenId> tokens) {
    while (!tokens.empty()) {
      const size_t count = std::min<size_t>(tokens.size(), cache_.max_chunk_tokens());
      WEIR_TRY(Step(tokens.first(count), LogitsWanted::kNone));
      tokens = tokens.subspan(count);
    }
    return {};
  }

 private:
  Model& model_;
  KvCache& cache_;
  SequenceView view_;
};

}  // namespace weir
