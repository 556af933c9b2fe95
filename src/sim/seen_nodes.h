// What a cache that never evicts would have of each prompt.
#pragma once

#include <vector>

#include "sim/trace.h"

namespace weir {

// Which requests saw a node before.
class SeenNodes {
 public:
  explicit SeenNodes(const Trace& trace) : trace_(trace), seen_(trace.nodes.size()) {
    seen_[0] = true;
  }
  // The deepest node of the request that an earlier one passed; now all of its nodes are seen.
  uint32_t Pass(const TraceRequest& request) {
    uint32_t node = request.last_node;
    for (; !seen_[node]; node = trace_.nodes[node].parent) seen_[node] = true;
    return node;
  }

 private:
  const Trace& trace_;
  std::vector<bool> seen_;
};

}  // namespace weir
