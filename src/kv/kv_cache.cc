#include "kv/kv_cache.h"

#include <algorithm>
#include <limits>

#include "base/byte_count.h"
#include "base/check.h"

namespace weir {
namespace {

// Most tiles that hold rows of chunks of `tokens` together, wherever they begin: each further
// sequence's begins and ends inside a tile.
uint32_t MaxTilesTouched(uint32_t tokens, uint32_t sequences) {
  return (tokens + kTileTokens - 2) / kTileTokens + 1 + 2 * (sequences - 1);
}

}  // namespace

Result<KvBudget> SplitBudget(const KvLayout& layout, uint64_t total_bytes, const KvWish& wish) {
  const uint64_t full_tile = layout.full ? layout.full->tile_bytes() : 0;
  const uint64_t window_tile = layout.window ? layout.window->tile_bytes() : 0;
  if (full_tile + window_tile == 0 || total_bytes < full_tile + window_tile) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("KV memory of {} ({} bytes) holds no {} tokens: a full tile takes {} "
                            "and a window tile {} bytes",
                            FormatByteCount(total_bytes), total_bytes, kTileTokens, full_tile,
                            window_tile));
  }
  if (!layout.window) return KvBudget{.full_bytes = total_bytes};
  if (!layout.full) return KvBudget{.window_bytes = total_bytes};
  const uint64_t live = layout.window->max_window_tiles();
  const auto share_bytes = static_cast<uint64_t>(static_cast<double>(total_bytes) *
                                                 std::clamp(wish.window_share, 0.0, 1.0));
  const uint64_t context_bytes = std::min(total_bytes, layout.FullBytes(wish.context_tokens));
  const uint64_t each = live * window_tile + context_bytes;
  const uint64_t sequences = std::clamp<uint64_t>(total_bytes / each, 1, wish.sequences);
  const uint64_t wished = std::max(share_bytes, sequences * live * window_tile);
  const uint64_t kept = std::min(wished, total_bytes - context_bytes) / window_tile;
  const uint64_t tiles = std::min(std::max(live, kept), total_bytes / (full_tile + window_tile));
  return KvBudget{.full_bytes = total_bytes - tiles * window_tile,
                  .window_bytes = tiles * window_tile};
}

KvCache::KvCache(const KvLayout& layout, const KvBudget& budget, uint32_t max_chunk_tokens,
                 uint32_t max_sequences)
    : layout_(layout), max_chunk_tokens_(max_chunk_tokens), max_sequences_(max_sequences) {
  WEIR_CHECK(max_chunk_tokens > 0 && max_sequences > 0);
  if (layout.full) full_ = std::make_unique<TilePool>(*layout.full, budget.full_bytes);
  if (layout.full && layout.full->codec != nullptr) {
    KvGroup rows = *layout.full;
    rows.format = KvFormat::kF16;
    rows.codec = nullptr;
    owed_ = std::make_unique<TilePool>(rows, budget.owed_bytes);
    owed_scratch_ =
        std::make_unique<LayerScratch>(rows, MaxTilesTouched(max_chunk_tokens, max_sequences));
  }
  if (!layout.window) return;
  WEIR_CHECK(layout.window->window > 0);
  window_ = std::make_unique<TilePool>(*layout.window, budget.window_bytes);
  window_scratch_ = std::make_unique<LayerScratch>(
      *layout.window, MaxTilesTouched(max_chunk_tokens, max_sequences));
}

uint64_t KvCache::scratch_bytes() const {
  return (window_scratch_ ? window_scratch_->bytes() : 0) +
         (owed_scratch_ ? owed_scratch_->bytes() : 0);
}

uint64_t KvCache::MaxSequenceTokens() const {
  uint64_t tokens = std::numeric_limits<uint32_t>::max();  // positions are 32 bits
  if (full_) tokens = std::min(tokens, uint64_t{full_->tile_count()} * kTileTokens);
  if (window_ && window_->tile_count() < layout_.window->max_window_tiles()) {
    tokens = std::min(tokens, uint64_t{window_->tile_count()} * kTileTokens);
  }
  if (owed_ && owed_->tile_count() < layout_.full->codec->residual_tiles + 1) {
    tokens = std::min(tokens, uint64_t{owed_->tile_count()} * kTileTokens);
  }
  return tokens;
}

}  // namespace weir
