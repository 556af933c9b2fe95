// A small model with the shape of its KV, and what it computes when there is no cache at all.
//
// Ownership: owns model and compute pool. Threads: the test's.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/model.h"
#include "support/random_model.h"

namespace weir::test {

struct GoldenModel {
  std::string file;  // of tests/golden/models
};

class ToyModel {
 public:
  // `codec`: of the full group; null: plain f16.
  ToyModel(const RandomModelSpec& spec, const TileCodec* codec);
  ToyModel(const GoldenModel& golden, const TileCodec* codec);

  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] const std::vector<KvLayer>& layers() const { return layers_; }
  [[nodiscard]] uint32_t vocab_size() const { return model_.config().vocab_size; }

  // Bytes of so many tiles; pools that the model does not have get nothing.
  [[nodiscard]] KvBudget Budget(const TileNeed& tiles) const;
  // Tiles that one sequence of `tokens` needs.
  [[nodiscard]] TileNeed TilesFor(uint32_t tokens) const;

  // Logits of every position of the segments, [rows, vocabulary]; the caller commits the chunks.
  std::span<const float> Forward(std::span<const ForwardSegment> segments) {
    return model_.Forward(segments);
  }
  // Computes and commits the next positions of a view.
  std::vector<float> Run(SequenceView& view, std::span<const TokenId> tokens);
  // Logits of every position in a cache of its own, in chunks that are used in turn.
  std::vector<float> ColdLogits(std::span<const TokenId> tokens, std::span<const uint32_t> chunks);
  std::vector<float> ColdLogits(std::span<const TokenId> tokens);

 private:
  void Describe(const TileCodec* codec);

  ThreadPool pool_;
  Model model_;
  KvLayout layout_;
  std::vector<KvLayer> layers_;
  std::unique_ptr<KvCache> cold_;  // as large as the longest run so far
};

// Overwrites every slot that nobody refers to, and the scratch, with NaN: no result may see them.
// Requires no open chunk, and a first call before any slot is used.
void PoisonFreeTiles(KvCache& cache);

// The first row that differs, or -1.
[[nodiscard]] int64_t FirstDifferentRow(std::span<const float> a, std::span<const float> b,
                                        size_t columns);

[[nodiscard]] std::vector<TokenId> RandomTokens(size_t count, uint64_t seed, uint32_t vocab_size);

}  // namespace weir::test
