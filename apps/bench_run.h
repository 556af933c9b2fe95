// Times one test of `weir bench` on a loaded model: no tokenising, no sampling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench_plan.h"
#include "kv/kv_cache.h"
#include "kv/sequence_view.h"
#include "model/model.h"

namespace weir {

struct BenchTimes {
  uint64_t depth_ns = 0;  // reading the depth of all sequences
  uint64_t test_ns = 0;   // the test itself
};

// Keeps the pools of a test between its repetitions.
//
// Ownership: borrows the model. Threads: one caller.
class BenchRun {
 public:
  // Pools for the test's sequences, no more; kInvalidArgument when the machine cannot hold them.
  static Result<BenchRun> Create(Model& model, const BenchTest& test, uint32_t chunk_tokens);

  // New sequences, the same random tokens each time.
  [[nodiscard]] Result<BenchTimes> Once();

 private:
  BenchRun(Model& model, const BenchTest& test, uint32_t chunk_tokens,
           std::unique_ptr<KvCache> cache);
  // Consecutive tokens of one sequence in steps of at most chunk_tokens_; logits of the last alone,
  // if wanted.
  Result<void> Read(SequenceView& view, uint32_t tokens, LogitsWanted wanted);
  // One step: a row of each sequence.
  Result<void> Decode(std::span<SequenceView> views, TokenId token);

  Model& model_;
  BenchTest test_;
  uint32_t chunk_tokens_;
  std::unique_ptr<KvCache> cache_;
  std::vector<TokenId> tokens_;
};

}  // namespace weir
