// The pools of a model's KV under one byte budget.
//
// Ownership: the engine owns one; it outlives every view. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "kv/layer_scratch.h"
#include "kv/layout.h"
#include "kv/tile_pool.h"

namespace weir {

struct KvBudget {
  uint64_t full_bytes = 0;
  uint64_t window_bytes = 0;
  uint64_t owed_bytes = 0;  // of a full group that is coded per tile
};

// What the split should make room for.
struct KvWish {
  uint32_t sequences = 1;       // live at once, if there is room for as many contexts
  uint64_t context_tokens = 0;  // that one sequence should be able to hold
  double window_share = 0.5;    // of the bytes, for windows that are kept for returning prompts
};

// Splits `total_bytes`: the window pool gets what a live sequence needs, and up to its share, or
// what as many sequences need as have room with a context each, as long as the full pool still
// holds a context; the full pool gets the rest, but never fewer tiles than the window pool: a
// budget too small for whole windows serves short sequences. Fails with the numbers if not even one
// tile of each group fits.
[[nodiscard]] Result<KvBudget> SplitBudget(const KvLayout& layout, uint64_t total_bytes,
                                           const KvWish& wish);

class KvCache {
 public:
  // `max_chunk_tokens` and `max_sequences` size the one-layer scratch of window rows (outside the
  // budget, counted by scratch_bytes()): so many sequences may have a chunk open at a time, of so
  // many tokens together besides a decode row each.
  KvCache(const KvLayout& layout, const KvBudget& budget, uint32_t max_chunk_tokens,
          uint32_t max_sequences = 1);

  [[nodiscard]] const KvLayout& layout() const { return layout_; }
  [[nodiscard]] uint32_t max_chunk_tokens() const { return max_chunk_tokens_; }
  [[nodiscard]] uint32_t max_sequences() const { return max_sequences_; }
  // Null without such a group.
  [[nodiscard]] TilePool* full_pool() const { return full_.get(); }
  [[nodiscard]] TilePool* window_pool() const { return window_.get(); }
  // 16-bit rows of the full group's newest tiles, when it is coded per tile.
  [[nodiscard]] TilePool* owed_pool() const { return owed_.get(); }
  [[nodiscard]] LayerScratch* window_scratch() const { return window_scratch_.get(); }
  [[nodiscard]] LayerScratch* owed_scratch() const { return owed_scratch_.get(); }
  [[nodiscard]] uint64_t scratch_bytes() const;

  // Tokens that one sequence alone can hold in these pools.
  [[nodiscard]] uint64_t MaxSequenceTokens() const;

 private:
  KvLayout layout_;
  uint32_t max_chunk_tokens_;
  uint32_t max_sequences_;
  std::unique_ptr<TilePool> full_;
  std::unique_ptr<TilePool> window_;
  std::unique_ptr<TilePool> owed_;
  std::unique_ptr<LayerScratch> window_scratch_;
  std::unique_ptr<LayerScratch> owed_scratch_;
};

}  // namespace weir
