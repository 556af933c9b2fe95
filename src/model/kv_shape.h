// The KV groups of a model from metadata alone, also of architectures that Weir cannot run yet.
//
// Which layers have a window, and of how many keys, follows the key
// `attention.sliding_window_pattern` where it is there and the architecture's habit where it is
// not. W counts the query's own position; mimo2's key does not, so its W is the key + 1 (the
// reference implementation sees key + 1 keys).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kv/layout.h"
#include "kv/sequence_view.h"
#include "model/config_keys.h"

namespace weir {

// Heads of one group; all its layers agree in it.
struct GroupShape {
  uint32_t layer_count = 0;
  uint32_t q_heads = 0;
  uint32_t kv_heads = 0;
  uint32_t k_dim = 0;
  uint32_t v_dim = 0;
  uint32_t window = 0;  // 0: full
};

struct KvShape {
  GroupShape full;    // layer_count 0: no such group
  GroupShape window;  // layer_count 0: no such group
  std::vector<KvLayer> layers;
};

// kUnsupported, naming two layers, when layers of a group differ in shape: a pool holds tiles of
// one shape. kInvalidArgument when the window that overrides the file's has no group to take it, or
// is longer than the file's context.
[[nodiscard]] Result<KvShape> ReadKvShape(const ConfigKeys& keys);

[[nodiscard]] KvLayout LayoutOf(const KvShape& shape, KvFormat format);

}  // namespace weir
