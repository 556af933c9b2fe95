// What clients asked for, as a tree of token blocks: the input of every replay without tensors.
//
// A node is a block after all blocks before it, so two requests share a node just when they share
// that whole prefix. A request is then one node, its last block, and a number of tokens.
//
// Ownership: plain values. Threads: immutable once built.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace weir {

struct TraceRequest {
  double time_s = 0;
  uint32_t token_count = 0;  // of the prompt; may be less or more than its blocks hold
  uint32_t last_node = 0;    // 0: no whole block
  uint32_t answer_tokens = 0;
};

struct TraceNode {
  uint32_t parent = 0;  // 0: the empty prefix
  uint32_t depth = 0;   // blocks from the start, its own included
};

struct Trace {
  std::string name;
  uint32_t block_tokens = 0;
  std::vector<TraceRequest> requests;         // by time
  std::vector<TraceNode> nodes{TraceNode{}};  // parents before children; node 0 is the empty prefix

  [[nodiscard]] uint32_t unique_blocks() const { return static_cast<uint32_t>(nodes.size() - 1); }
  // Prompt tokens in the first `depth` blocks.
  [[nodiscard]] uint32_t TokensTo(const TraceRequest& request, uint32_t depth) const;
};

// Collects requests in any order.
class TraceBuilder {
 public:
  // `block_tokens` > 0.
  TraceBuilder(std::string name, uint32_t block_tokens);

  // `label` tells blocks after the same node apart.
  uint32_t Child(uint32_t node, uint64_t label);
  void AddRequest(const TraceRequest& request);
  // Requests of the same moment keep the order in which they were added.
  [[nodiscard]] Trace Build() &&;

 private:
  struct Step {
    uint32_t parent;
    uint64_t label;
    bool operator==(const Step&) const = default;
  };
  struct StepHash {
    size_t operator()(const Step& step) const;
  };

  Trace trace_;
  std::vector<uint64_t> labels_{0};
  std::unordered_map<Step, uint32_t, StepHash> others_;  // children that do not follow their parent
};

}  // namespace weir
