#include "model/kv_shape.h"

#include <algorithm>
#include <array>

#include "model/gguf_values.h"

namespace weir {
namespace {

// All heads of one position. Bounds the bytes of any context below 2^63.
constexpr uint64_t kMaxRow = 1 << 20;

// What files leave unsaid about windows.
struct WindowHabit {
  std::string_view architecture;
  uint32_t full_period;  // every n-th layer is full, the last of each n; 0: the file must tell
  uint32_t extra_keys;   // W = key + extra_keys
};
constexpr std::array<WindowHabit, 5> kHabits = {
    {{"gemma3", 6, 0}, {"mimo2", 0, 1}, {"gemma2", 2, 0}, {"gpt-oss", 2, 0}, {"cohere2", 4, 0}}};

const WindowHabit* HabitOf(std::string_view architecture) {
  const auto found = std::find_if(kHabits.begin(), kHabits.end(), [&](const WindowHabit& habit) {
    return habit.architecture == architecture;
  });
  return found == kHabits.end() ? nullptr : found;
}

// W of each layer, 0 for full ones.
Result<std::vector<uint32_t>> ReadWindows(const ConfigKeys& keys, uint32_t layer_count) {
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  std::vector<uint32_t> windows(layer_count, 0);
  const auto key = WEIR_TRY(keys.Count("attention.sliding_window", kMaxTokens));
  if (!key && keys.Has(kPattern)) {
    return keys.Corrupt(fmt::format("the key {} is missing, though {} is there",
                                    Quoted(keys.FullKey("attention.sliding_window")),
                                    Quoted(keys.FullKey(kPattern))));
  }
  if (!key) return windows;
  const WindowHabit* habit = HabitOf(keys.architecture());
  const uint32_t window = *key + (habit != nullptr ? habit->extra_keys : 0);

  if (keys.file().ArrayCount(keys.FullKey(kPattern))) {
    const auto pattern = WEIR_TRY(keys.PerLayer(kPattern, layer_count, 1));
    for (uint32_t layer = 0; layer < layer_count; ++layer) windows[layer] = pattern[layer] * window;
    return windows;
  }
  uint32_t period = WEIR_TRY(keys.Count(kPattern, kMaxLayers)).value_or(0);
  if (period == 0 && habit != nullptr) period = habit->full_period;
  if (period == 0) {
    return keys.Unsupported(fmt::format(
        "architecture {} has a window of {} tokens, but no key {} that says in which layers",
        Quoted(keys.architecture()), window, Quoted(keys.FullKey(kPattern))));
  }
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    windows[layer] = layer % period == period - 1 ? 0 : window;
  }
  return windows;
}

// Dimension of each layer's heads: window layers may have a key of their own.
Result<uint32_t> ReadDim(const ConfigKeys& keys, std::string_view key, bool of_window,
                         uint32_t otherwise) {
  const auto common = WEIR_TRY(keys.Count(key, kMaxHeadDim));
  const auto own = WEIR_TRY(keys.Count(fmt::format("{}_swa", key), kMaxHeadDim));
  const uint32_t dim =
      of_window ? own.value_or(common.value_or(otherwise)) : common.value_or(otherwise);
  if (dim == 0) {
    return keys.Corrupt(
        fmt::format("the key {} is missing and the hidden size is no multiple of "
                    "the head count",
                    Quoted(keys.FullKey(key))));
  }
  return dim;
}

Result<uint32_t> ReadLayerCount(const ConfigKeys& keys) {
  const uint32_t blocks = WEIR_TRY(keys.NeedCount("block_count", kMaxLayers));
  // Blocks that predict further tokens come after the model's own and are no part of it.
  const uint64_t drafting =
      WEIR_TRY(keys.file().Unsigned(keys.FullKey("nextn_predict_layers"))).value_or(0);
  if (drafting >= blocks) {
    return keys.Corrupt(
        fmt::format("{} of {} layers are said to predict further tokens", drafting, blocks));
  }
  return blocks - static_cast<uint32_t>(drafting);
}

// Memory that is not K and V rows of heads: other arithmetic.
Result<void> CheckPlainKv(const ConfigKeys& keys) {
  for (const std::string_view key : {"attention.kv_lora_rank", "ssm.state_size",
                                     "attention.shared_kv_layers", "wkv.head_size"}) {
    if (WEIR_TRY(keys.file().Unsigned(keys.FullKey(key))).value_or(0) != 0) {
      return keys.Unsupported(
          fmt::format("architecture {} keeps other state than one K and V row a "
                      "token and layer (key {})",
                      Quoted(keys.architecture()), Quoted(keys.FullKey(key))));
    }
  }
  return {};
}

bool SameShape(const GroupShape& a, const GroupShape& b) {
  return a.q_heads == b.q_heads && a.kv_heads == b.kv_heads && a.k_dim == b.k_dim &&
         a.v_dim == b.v_dim && a.window == b.window;
}

std::string Describe(const GroupShape& shape) {
  return fmt::format("{} query heads, {} KV heads of {} and {}", shape.q_heads, shape.kv_heads,
                     shape.k_dim, shape.v_dim);
}

Result<std::vector<GroupShape>> ReadLayerShapes(const ConfigKeys& keys, uint32_t layer_count) {
  const auto windows = WEIR_TRY(ReadWindows(keys, layer_count));
  const auto q_heads = WEIR_TRY(keys.PerLayer("attention.head_count", layer_count, kMaxHeads));
  if (q_heads.empty()) {
    return keys.Corrupt(
        fmt::format("the key {} is missing", Quoted(keys.FullKey("attention.head_count"))));
  }
  auto kv_heads = WEIR_TRY(keys.PerLayer("attention.head_count_kv", layer_count, kMaxHeads));
  if (kv_heads.empty()) kv_heads = q_heads;
  const uint32_t hidden = WEIR_TRY(keys.NeedCount("embedding_length", kMaxHidden));

  std::vector<GroupShape> shapes;
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    GroupShape shape{.layer_count = 1, .q_heads = q_heads[layer], .kv_heads = kv_heads[layer]};
    shape.window = windows[layer];
    if (shape.q_heads == 0 || shape.kv_heads == 0 || shape.q_heads % shape.kv_heads != 0) {
      return keys.Corrupt(fmt::format("layer {}: {} query heads do not share {} KV heads evenly",
                                      layer, shape.q_heads, shape.kv_heads));
    }
    const bool of_window = shape.window != 0;
    const uint32_t even_dim = hidden % shape.q_heads == 0 ? hidden / shape.q_heads : 0;
    shape.k_dim = WEIR_TRY(ReadDim(keys, "attention.key_length", of_window, even_dim));
    shape.v_dim = WEIR_TRY(ReadDim(keys, "attention.value_length", of_window, even_dim));
    if (uint64_t{shape.q_heads} * std::max(shape.k_dim, shape.v_dim) > kMaxRow) {
      return keys.Corrupt(fmt::format("layer {}: {} heads of {} and {} dimensions are beyond {}",
                                      layer, shape.q_heads, shape.k_dim, shape.v_dim, kMaxRow));
    }
    shapes.push_back(shape);
  }
  return shapes;
}

Result<void> OverrideWindow(const ConfigKeys& keys, KvShape& shape) {
  const uint32_t window = keys.overrides().window;
  if (window == 0) return {};
  if (shape.window.layer_count == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: no window of {} tokens can be set: every layer sees all positions",
                            keys.file().path(), window));
  }
  const uint32_t context = WEIR_TRY(keys.NeedCount("context_length", kMaxTokens));
  if (window > context) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: a window of {} tokens is longer than the model's context of {}",
                            keys.file().path(), window, context));
  }
  shape.window.window = window;
  return {};
}

}  // namespace

Result<KvShape> ReadKvShape(const ConfigKeys& keys) {
  WEIR_TRY(CheckPlainKv(keys));
  const uint32_t layer_count = WEIR_TRY(ReadLayerCount(keys));
  const auto shapes = WEIR_TRY(ReadLayerShapes(keys, layer_count));
  KvShape out;
  std::array<uint32_t, 2> first_layer{};  // of each group
  for (uint32_t layer = 0; layer < layer_count; ++layer) {
    const bool of_window = shapes[layer].window != 0;
    GroupShape& group = of_window ? out.window : out.full;
    const uint32_t index = group.layer_count++;
    if (index == 0) {
      group = shapes[layer];
      first_layer[of_window] = layer;
    } else if (!SameShape(group, shapes[layer])) {
      return keys.Unsupported(fmt::format(
          "layers {} and {} both have {} attention but differ in shape ({}; {}): Weir keeps the KV "
          "of such layers in one pool of one shape",
          first_layer[of_window], layer, of_window ? "window" : "full", Describe(group),
          Describe(shapes[layer])));
    }
    out.layers.push_back({of_window ? KvGroupKind::kWindow : KvGroupKind::kFull, index});
  }
  WEIR_TRY(OverrideWindow(keys, out));
  return out;
}

KvLayout LayoutOf(const KvShape& shape, KvFormat format) {
  const auto group_of = [&](const GroupShape& group) -> std::optional<KvGroup> {
    if (group.layer_count == 0) return std::nullopt;
    return KvGroup{.layer_count = group.layer_count,
                   .kv_heads = group.kv_heads,
                   .k_dim = group.k_dim,
                   .v_dim = group.v_dim,
                   .window = group.window,
                   .format = format};
  };
  return {.full = group_of(shape.full), .window = group_of(shape.window)};
}

}  // namespace weir
