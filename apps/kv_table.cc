#include "kv_table.h"

#include <fmt/format.h>

#include "base/byte_count.h"

namespace weir {
namespace {

void PrintGroup(std::string_view name, const KvGroup& group) {
  const std::string window = group.window == 0 ? "all" : fmt::format("{}", group.window);
  fmt::print("{:<8}{:>7}{:>9}{:>10}{:>7}{:>7}{:>13}{:>13}\n", name, group.layer_count, window,
             group.kv_heads, group.k_dim, group.v_dim,
             FormatByteCount(group.tile_bytes() / kTileTokens),
             FormatByteCount(group.tile_bytes()));
}

}  // namespace

void PrintKvGroups(const KvLayout& layout) {
  fmt::print("{:<8}{:>7}{:>9}{:>10}{:>7}{:>7}{:>13}{:>13}\n", "group", "layers", "window",
             "KV heads", "K dim", "V dim", "a token", "a tile");
  if (layout.full) PrintGroup("full", *layout.full);
  if (layout.window) PrintGroup("window", *layout.window);
}

}  // namespace weir
