// Prints the KV groups of a model as a table.
#pragma once

#include "kv/layout.h"

namespace weir {

// One line a group: layers, heads, dimensions, window, bytes a token and a tile.
void PrintKvGroups(const KvLayout& layout);

}  // namespace weir
