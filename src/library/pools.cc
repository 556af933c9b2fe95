#include "weir/pools.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/byte_count.h"
#include "library/state.h"

namespace weir::kv {
namespace {

constexpr uint32_t kMaxLayers = uint32_t{1} << 16;
constexpr uint32_t kMaxRowBytes = uint32_t{1} << 24;
constexpr uint32_t kMaxWindow = uint32_t{1} << 30;
constexpr uint32_t kMaxChunkTokens = uint32_t{1} << 24;

KvGroup ToInternal(const LayerGroup& group) {
  return {.layer_count = group.layer_count,
          .kv_heads = 1,
          .k_dim = group.key_bytes,
          .v_dim = group.value_bytes,
          .window = group.window,
          .format = KvFormat::kOpaque};
}

std::optional<Error> Invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

std::optional<Error> CheckGroup(std::string_view name, const LayerGroup& group) {
  if (group.layer_count == 0 || group.layer_count > kMaxLayers) {
    return Invalid(fmt::format("{} group: {} layers; 1 to {} are possible", name, group.layer_count,
                               kMaxLayers));
  }
  if (group.key_bytes == 0 || group.key_bytes > kMaxRowBytes || group.value_bytes > kMaxRowBytes) {
    return Invalid(
        fmt::format("{} group: rows of {} key and {} value bytes; 1 to {} and 0 to {} "
                    "are possible",
                    name, group.key_bytes, group.value_bytes, kMaxRowBytes, kMaxRowBytes));
  }
  return std::nullopt;
}

std::optional<Error> CheckLayout(const Layout& layout) {
  if (!layout.full && !layout.window) return Invalid("a layout without layers");
  if (layout.full) {
    if (auto error = CheckGroup("full", *layout.full)) return error;
    if (layout.full->window != 0) {
      return Invalid(
          fmt::format("full group: a window of {} tokens; it has none (0)", layout.full->window));
    }
  }
  if (layout.window) {
    if (auto error = CheckGroup("window", *layout.window)) return error;
    if (layout.window->window == 0 || layout.window->window > kMaxWindow) {
      return Invalid(fmt::format("window group: a window of {} tokens; 1 to {} are possible",
                                 layout.window->window, kMaxWindow));
    }
  }
  return std::nullopt;
}

std::optional<Error> CheckHoldsATile(std::string_view name, const std::optional<LayerGroup>& group,
                                     uint64_t bytes) {
  if (!group || bytes >= group->tile_bytes()) return std::nullopt;
  return Invalid(
      fmt::format("{} pool: {} bytes hold no tile of {} bytes", name, bytes, group->tile_bytes()));
}

// The slabs are only reserved at first; a budget beyond the machine would fail long after.
std::optional<Error> CheckFitsMachine(const Layout& layout, const Budget& budget,
                                      uint32_t max_chunk_tokens) {
  const uint64_t machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t scratch_tiles = max_chunk_tokens / kTileTokens + 2;
  const uint64_t scratch =
      layout.window ? scratch_tiles * layout.window->tile_bytes() / layout.window->layer_count : 0;
  const uint64_t full = layout.full ? budget.full_bytes : 0;
  const uint64_t window = layout.window ? budget.window_bytes : 0;
  if (full <= machine && window <= machine - full && scratch <= machine - full - window) {
    return std::nullopt;
  }
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("pools of {} and {} with {} for a chunk's windows: the machine has {}",
                           FormatByteCount(full), FormatByteCount(window), FormatByteCount(scratch),
                           FormatByteCount(machine))};
}

PoolStats StatsOf(const TilePool* pool) {
  if (pool == nullptr) return {};
  return {.tile_bytes = pool->group().tile_bytes(),
          .tiles = pool->tile_count(),
          .used_tiles = pool->used_count()};
}

}  // namespace

KvLayer ToInternal(Layer layer) {
  return {layer.group == Group::kFull ? KvGroupKind::kFull : KvGroupKind::kWindow, layer.index};
}

KvLayout ToInternal(const Layout& layout) {
  KvLayout internal;
  if (layout.full) internal.full = ToInternal(*layout.full);
  if (layout.window) internal.window = ToInternal(*layout.window);
  return internal;
}

Error ToError(const weir::Error& error) {
  return {error.code == weir::ErrorCode::kResourceExhausted ? ErrorCode::kResourceExhausted
                                                            : ErrorCode::kInvalidArgument,
          error.message};
}

Expected<Budget> SplitBudget(const Layout& layout, uint64_t total_bytes, const SplitWish& wish) {
  if (auto error = CheckLayout(layout)) return *std::move(error);
  const Result<KvBudget> budget = weir::SplitBudget(ToInternal(layout), total_bytes,
                                                    {.sequences = wish.sequences,
                                                     .context_tokens = wish.context_tokens,
                                                     .window_share = wish.window_share});
  if (!budget) return ToError(budget.error());
  return Budget{.full_bytes = budget->full_bytes, .window_bytes = budget->window_bytes};
}

Expected<Pools> Pools::Create(const Layout& layout, const Budget& budget,
                              uint32_t max_chunk_tokens) {
  if (auto error = CheckLayout(layout)) return *std::move(error);
  if (max_chunk_tokens == 0 || max_chunk_tokens > kMaxChunkTokens) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("chunks of {} tokens; 1 to {} are possible", max_chunk_tokens,
                             kMaxChunkTokens)};
  }
  if (auto error = CheckHoldsATile("full", layout.full, budget.full_bytes))
    return *std::move(error);
  if (auto error = CheckHoldsATile("window", layout.window, budget.window_bytes)) {
    return *std::move(error);
  }
  if (auto error = CheckFitsMachine(layout, budget, max_chunk_tokens)) return *std::move(error);
  return Pools(std::make_shared<State>(layout, budget, max_chunk_tokens));
}

const Layout& Pools::layout() const { return state_->layout; }

uint32_t Pools::max_chunk_tokens() const { return state_->cache.max_chunk_tokens(); }

uint64_t Pools::MaxSequenceTokens() const { return state_->cache.MaxSequenceTokens(); }

PoolsStats Pools::stats() const {
  const KvCache& cache = state_->cache;
  return {.full = StatsOf(cache.full_pool()),
          .window = StatsOf(cache.window_pool()),
          .scratch_bytes = cache.scratch_bytes()};
}

}  // namespace weir::kv
