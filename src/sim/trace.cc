#include "sim/trace.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace weir {

uint32_t Trace::TokensTo(const TraceRequest& request, uint32_t depth) const {
  const uint64_t tokens = uint64_t{depth} * block_tokens;
  return static_cast<uint32_t>(std::min<uint64_t>(tokens, request.token_count));
}

TraceBuilder::TraceBuilder(std::string name, uint32_t block_tokens) {
  WEIR_CHECK(block_tokens > 0);
  trace_.name = std::move(name);
  trace_.block_tokens = block_tokens;
}

size_t TraceBuilder::StepHash::operator()(const Step& step) const {
  uint64_t mixed = (step.label ^ (uint64_t{step.parent} << 32)) * 0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29;
  return static_cast<size_t>(mixed * 0xBF58476D1CE4E5B9U);
}

uint32_t TraceBuilder::Child(uint32_t node, uint64_t label) {
  std::vector<TraceNode>& nodes = trace_.nodes;
  WEIR_CHECK(node < nodes.size() && nodes.size() < std::numeric_limits<uint32_t>::max());
  const auto next = static_cast<uint32_t>(nodes.size());
  // Most children were made right after their parent.
  const uint32_t follower = node + 1;
  if (follower < next && nodes[follower].parent == node && labels_[follower] == label) {
    return follower;
  }
  if (follower < next) {
    const auto [found, is_new] = others_.try_emplace(Step{node, label}, next);
    if (!is_new) return found->second;
  }
  nodes.push_back({.parent = node, .depth = nodes[node].depth + 1});
  labels_.push_back(label);
  return next;
}

void TraceBuilder::AddRequest(const TraceRequest& request) {
  WEIR_CHECK(request.last_node < trace_.nodes.size());
  trace_.requests.push_back(request);
}

Trace TraceBuilder::Build() && {
  std::stable_sort(
      trace_.requests.begin(), trace_.requests.end(),
      [](const TraceRequest& a, const TraceRequest& b) { return a.time_s < b.time_s; });
  return std::move(trace_);
}

}  // namespace weir
