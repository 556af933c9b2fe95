// The memory of a model's KV: one pool of tiles for each group, each with a budget in bytes.
//
// A pool is one slab, reserved at Create and touched as tiles are first written: so the process
// never grows past budget + scratch. Nothing is allocated for a token.
//
// Ownership: a handle; sequences and prefix caches share what it stands for, so all may be dropped
// in any order. Threads: everything made from one Pools belongs to one thread (see sequence.h for
// what other threads may do with planes).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "weir/expected.h"
#include "weir/layout.h"

namespace weir::kv {

struct Budget {
  uint64_t full_bytes = 0;
  uint64_t window_bytes = 0;
};

// What a split should make room for.
struct SplitWish {
  uint32_t sequences = 1;       // live at once, if there is room for as many contexts
  uint64_t context_tokens = 0;  // that one sequence should be able to hold
  double window_share = 0.5;    // of the bytes, for windows kept for returning prompts
};

// Splits `total_bytes` between the groups: windows of a sequence first; more, for as many as have
// room with a context each or up to the share, as long as the full pool still holds the context;
// the rest to the full pool. Fails if not one tile of each group fits.
[[nodiscard]] Expected<Budget> SplitBudget(const Layout& layout, uint64_t total_bytes,
                                           const SplitWish& wish = {});

struct PoolStats {
  uint64_t tile_bytes = 0;
  uint64_t tiles = 0;
  uint64_t used_tiles = 0;  // by sequences and by the prefix cache
};

struct PoolsStats {
  PoolStats full;  // zeros without such a group
  PoolStats window;
  uint64_t scratch_bytes = 0;  // beside the budget
};

class Pools {
 public:
  // `max_chunk_tokens` bounds a chunk and sizes the one-layer scratch of window rows: one chunk of
  // so many tokens can be open at a time, or several smaller ones. Fails when the layout or the
  // chunk is out of bounds, when a budget holds no tile, or beyond the memory of the machine.
  [[nodiscard]] static Expected<Pools> Create(const Layout& layout, const Budget& budget,
                                              uint32_t max_chunk_tokens);

  [[nodiscard]] const Layout& layout() const;
  [[nodiscard]] uint32_t max_chunk_tokens() const;
  // Tokens that one sequence alone can hold.
  [[nodiscard]] uint64_t MaxSequenceTokens() const;
  [[nodiscard]] PoolsStats stats() const;

  struct State;  // private to the library

 private:
  friend class PrefixCache;
  explicit Pools(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace weir::kv
