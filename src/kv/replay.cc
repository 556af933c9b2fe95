#include "kv/replay.h"

#include <algorithm>
#include <limits>

namespace weir {
namespace {

uint32_t Minus(uint32_t position, uint64_t tokens) {
  return static_cast<uint32_t>(position - std::min<uint64_t>(position, tokens));
}

uint32_t OwedBegin(const KvLayout& layout, uint32_t position) {
  return kTileTokens * Minus(position / kTileTokens, layout.full->codec->residual_tiles);
}

// `window_from`: first window row that must be right in every layer.
uint32_t Begin(std::span<const KvLayer> layers, const KvLayout& layout, uint32_t position,
               uint32_t window_from) {
  uint32_t begin = position;
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    if (layer->group == KvGroupKind::kWindow) {
      begin = std::min(Minus(begin, layout.window->window - 1), window_from);
    } else if (layout.full->codec != nullptr) {
      begin = OwedBegin(layout, begin);
    }
  }
  return begin;
}

}  // namespace

uint32_t ReplayBegin(std::span<const KvLayer> layers, const KvLayout& layout, uint32_t position) {
  return Begin(layers, layout, position, position);
}

ReplaySpan PlanReplay(std::span<const KvLayer> layers, const KvLayout& layout, uint32_t position) {
  ReplaySpan span{.begin = position, .window_whole_from = position, .owed_whole_from = position};
  if (layout.window) {
    span.window_whole_from = Minus(position, layout.window->window - 1) / kTileTokens * kTileTokens;
  }
  if (layout.full && layout.full->codec != nullptr) {
    span.owed_whole_from = OwedBegin(layout, position);
  }
  span.begin = Begin(layers, layout, position, span.window_whole_from);
  return span;
}

// Where tiles begin and end in the span depends on the position's place in its tile.
uint32_t ReplayableFrom(std::span<const KvLayer> layers, const KvLayout& layout) {
  constexpr uint32_t kFar = uint32_t{1} << 31;
  if (layers.empty()) return std::numeric_limits<uint32_t>::max();
  uint32_t most = 0;
  for (uint32_t position = kFar; position < kFar + kTileTokens; ++position) {
    most = std::max(most, position - PlanReplay(layers, layout, position).begin);
  }
  return most;
}

}  // namespace weir
