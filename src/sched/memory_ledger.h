// Whether the pools hold one more sequence, beside what the running ones have and were promised.
//
// A sequence is promised tiles for a number of tokens when it begins, grows into them, and past
// them if it must. What the prefix cache holds and no sequence uses can be evicted, so it does not
// count; tiles that sequences share count once.
//
//   ledger.Begin();
//   for (each running sequence) ledger.AddRunning(view, promised_tokens);
//   if (ledger.HasRoomFor(tokens, shared)) ...
//
// Ownership: borrows the cache. Threads: the engine thread. Buffers stay between calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kv/kv_cache.h"
#include "kv/prefix_tiles.h"
#include "kv/sequence_view.h"

namespace weir {

class MemoryLedger {
 public:
  explicit MemoryLedger(const KvCache& cache);

  void Begin();
  void AddRunning(const SequenceView& view, uint64_t promised_tokens);
  // For a sequence that may come to hold `promised_tokens`, and begins with the full tiles
  // `shared`, which are in the pool.
  [[nodiscard]] bool HasRoomFor(uint64_t promised_tokens, std::span<const TileId> shared) const;

  // Full tiles that a sequence was promised and has not taken.
  [[nodiscard]] uint32_t ReservedFullTiles(const SequenceView& view,
                                           uint64_t promised_tokens) const;

 private:
  // Most tiles that a sequence of so many tokens owns.
  [[nodiscard]] TileNeed NeedOf(uint64_t tokens) const;
  bool Mark(TileId tile);

  const KvCache& cache_;
  std::vector<uint64_t> marks_;  // by slot of the full pool: the round that met it last
  uint64_t round_ = 0;
  uint32_t live_full_ = 0;
  uint64_t promised_full_ = 0;  // not yet taken
  uint64_t window_ = 0;
  uint64_t owed_ = 0;
};

}  // namespace weir
