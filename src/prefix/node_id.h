// A node of the prefix trie. Ids of nodes that went are given to others.
#pragma once

#include "base/ids.h"

namespace weir {

using NodeId = Id<struct NodeTag>;  // 0: none

}  // namespace weir
