// What attention tests and benchmarks share: random rows in a KvCache full of NaN bytes, driven in
// any chunks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "attn/attention_kernels.h"
#include "base/check.h"
#include "kv/sequence_view.h"

namespace weir::test {

struct AttentionCase {
  const char* name = "";
  uint32_t q_heads = 1;
  uint32_t kv_heads = 1;
  uint32_t k_dim = 16;
  uint32_t v_dim = 16;
  uint32_t window = 0;
  float softcap = 0.0F;
  bool has_sinks = false;
  float score_spread = 3.0F;  // standard deviation of scores, about
};

// Queries, keys and values of a whole sequence and what is needed to run them.
class AttentionData {
 public:
  AttentionData(const AttentionCase& test, uint32_t tokens, uint64_t seed)
      : test_(test), tokens_(tokens), random_(seed) {
    queries = Draw(size_t{tokens} * test.q_heads * test.k_dim, test.score_spread);
    keys = Draw(size_t{tokens} * test.kv_heads * test.k_dim, 1.0F);
    values = Draw(size_t{tokens} * test.kv_heads * test.v_dim, 1.0F);
    if (test.has_sinks) sinks = Draw(test.q_heads, 2.0F);
  }

  [[nodiscard]] uint32_t tokens() const { return tokens_; }
  [[nodiscard]] const AttentionCase& test() const { return test_; }
  [[nodiscard]] AttentionShape Shape() const {
    return {.q_heads = test_.q_heads,
            .kv_heads = test_.kv_heads,
            .k_dim = test_.k_dim,
            .v_dim = test_.v_dim,
            .window = test_.window,
            .scale = 1.0F / std::sqrt(static_cast<float>(test_.k_dim)),
            .softcap = test_.softcap,
            .sinks = sinks};
  }
  [[nodiscard]] KvLayer Layer() const {
    return {test_.window == 0 ? KvGroupKind::kFull : KvGroupKind::kWindow, 0};
  }
  [[nodiscard]] KvLayout Layout() const {
    KvLayout layout;
    (test_.window == 0 ? layout.full : layout.window) = KvGroup{.layer_count = 1,
                                                                .kv_heads = test_.kv_heads,
                                                                .k_dim = test_.k_dim,
                                                                .v_dim = test_.v_dim,
                                                                .window = test_.window};
    return layout;
  }

  std::vector<float> queries;  // [tokens, q_heads, k_dim]
  std::vector<float> keys;     // [tokens, kv_heads, k_dim]
  std::vector<float> values;   // [tokens, kv_heads, v_dim]
  std::vector<float> sinks;

 private:
  std::vector<float> Draw(size_t count, float spread) {
    std::normal_distribution<float> normal(0.0F, spread);
    std::vector<float> numbers(count);
    for (float& number : numbers) number = normal(random_);
    return numbers;
  }

  AttentionCase test_;
  uint32_t tokens_;
  std::mt19937_64 random_;
};

// Bytes that no result may ever see.
inline void FillWithNan(KvCache& cache) {
  for (TilePool* pool : {cache.full_pool(), cache.window_pool()}) {
    if (pool == nullptr) continue;
    std::vector<TileRef> all;
    while (TileRef tile = pool->Allocate()) all.push_back(std::move(tile));
    for (const TileRef& tile : all) {
      std::memset(pool->KeyPlane(tile.id(), 0), 0xFF, pool->group().tile_bytes());
    }
  }
  if (LayerScratch* scratch = cache.window_scratch()) {
    std::memset(scratch->KeyPlane(0), 0xFF, scratch->bytes());
  }
}

// One sequence that is fed chunk by chunk.
class AttentionSequence {
 public:
  AttentionSequence(const AttentionData& data, uint32_t max_chunk)
      : data_(data),
        cache_(data.Layout(),
               {.full_bytes = data.Layout().FullBytes(data.tokens()),
                .window_bytes = data.Layout().WindowBytes(data.tokens())},
               max_chunk),
        view_(cache_),
        out_(size_t{data.tokens()} * data.test().q_heads * data.test().v_dim) {
    FillWithNan(cache_);
  }

  // Writes the rows of the next chunk and describes its attention; End() closes it.
  AttentionSegment Begin(uint32_t tokens) {
    auto chunk = view_.BeginChunk(tokens);
    WEIR_CHECK(chunk.has_value());
    chunk_.emplace(std::move(*chunk));
    const AttentionCase& test = data_.test();
    const size_t k_count = size_t{test.kv_heads} * test.k_dim;
    const size_t v_count = size_t{test.kv_heads} * test.v_dim;
    for (uint32_t position = chunk_->begin(); position < chunk_->end(); ++position) {
      chunk_->Write(data_.Layer(), position,
                    std::span(data_.keys).subspan(position * k_count, k_count),
                    std::span(data_.values).subspan(position * v_count, v_count));
    }
    return {.tiles = chunk_->Tiles(data_.Layer()),
            .first_position = chunk_->begin(),
            .row_count = tokens,
            .queries = data_.queries.data() + size_t{chunk_->begin()} * test.q_heads * test.k_dim,
            .out = out_.data() + size_t{chunk_->begin()} * test.q_heads * test.v_dim};
  }

  void End() {
    chunk_->EndLayer(data_.Layer());
    view_.Commit(std::move(*chunk_));
    chunk_.reset();
  }

  [[nodiscard]] uint32_t left() const { return data_.tokens() - view_.token_count(); }
  [[nodiscard]] const std::vector<float>& out() const { return out_; }

 private:
  const AttentionData& data_;
  KvCache cache_;
  SequenceView view_;
  std::optional<KvChunk> chunk_;
  std::vector<float> out_;
};

// The whole sequence alone, in chunks of the given lengths (repeated). [tokens, q_heads, v_dim].
inline std::vector<float> RunInChunks(const AttentionData& data, std::vector<uint32_t> chunks,
                                      uint32_t threads, Isa isa) {
  ThreadPool pool(threads);
  Attention attention(pool, AttentionKernelsOf(isa));
  AttentionSequence sequence(data, *std::max_element(chunks.begin(), chunks.end()));
  for (size_t i = 0; sequence.left() > 0; ++i) {
    const AttentionSegment segment =
        sequence.Begin(std::min(chunks[i % chunks.size()], sequence.left()));
    attention.Run(data.Shape(), std::span(&segment, 1));
    sequence.End();
  }
  return sequence.out();
}

}  // namespace weir::test
