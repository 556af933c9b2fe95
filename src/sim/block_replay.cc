#include "sim/block_replay.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "prefix/leaf_order.h"

namespace weir {
namespace {

// Decides which leaf of the kept blocks goes.
class BlockOrder {
 public:
  virtual ~BlockOrder() = default;
  // A request begins; it uses the blocks that follow.
  virtual void Begin() = 0;
  virtual void Use(uint32_t node) = 0;
  virtual void AddLeaf(uint32_t node) = 0;
  virtual void RemoveLeaf(uint32_t node) = 0;
  virtual void Forget(uint32_t node) = 0;        // it went
  [[nodiscard]] virtual uint32_t Coldest() = 0;  // 0: no leaf
  // Whether `parent`, a leaf since `child` went, goes with it.
  [[nodiscard]] virtual bool GoTogether(uint32_t /*child*/, uint32_t /*parent*/) const {
    return false;
  }
};

// Leaves by a number: the smallest goes first, then the deepest.
class SortedOrder : public BlockOrder {
 public:
  explicit SortedOrder(const Trace& trace) : trace_(trace), heat_(trace.nodes.size()) {}
  void AddLeaf(uint32_t node) override { leaves_.insert(EntryOf(node)); }
  void RemoveLeaf(uint32_t node) override { leaves_.erase(EntryOf(node)); }
  void Forget(uint32_t /*node*/) override {}
  [[nodiscard]] uint32_t Coldest() override { return leaves_.empty() ? 0 : leaves_.begin()->node; }

 protected:
  [[nodiscard]] uint64_t heat(uint32_t node) const { return heat_[node]; }
  void set_heat(uint32_t node, uint64_t heat) { heat_[node] = heat; }  // of no leaf

 private:
  struct Entry {
    uint64_t heat;
    uint32_t above;  // ~depth
    uint32_t node;
    auto operator<=>(const Entry&) const = default;
  };
  [[nodiscard]] Entry EntryOf(uint32_t node) const {
    return {heat_[node], ~trace_.nodes[node].depth, node};
  }
  const Trace& trace_;
  std::vector<uint64_t> heat_;
  std::set<Entry> leaves_;
};

class LruOrder : public SortedOrder {
 public:
  LruOrder(const Trace& trace, bool goes_as_a_whole)
      : SortedOrder(trace), goes_as_a_whole_(goes_as_a_whole) {}
  void Begin() override { ++now_; }
  void Use(uint32_t node) override { set_heat(node, now_); }
  [[nodiscard]] bool GoTogether(uint32_t child, uint32_t parent) const override {
    return goes_as_a_whole_ && heat(child) == heat(parent);
  }

 private:
  bool goes_as_a_whole_;
  uint64_t now_ = 0;
};

class BeladyOrder : public SortedOrder {
 public:
  explicit BeladyOrder(const Trace& trace) : SortedOrder(trace) {
    std::vector<uint64_t> later(trace.nodes.size(), 0);  // ~request that uses it next; 0: none
    for (size_t r = trace.requests.size(); r > 0; --r) {
      for (uint32_t n = trace.requests[r - 1].last_node; n != 0; n = trace.nodes[n].parent) {
        next_uses_.push_back(std::exchange(later[n], ~uint64_t{r - 1}));
      }
    }
  }
  void Begin() override {}
  // Uses come in the reverse order of the constructor's.
  void Use(uint32_t node) override {
    set_heat(node, next_uses_.back());
    next_uses_.pop_back();
  }

 private:
  std::vector<uint64_t> next_uses_;
};

class WeirOrder : public BlockOrder {
 public:
  explicit WeirOrder(uint32_t blocks) : order_(blocks) {}
  void Begin() override { order_.Tick(); }
  void Use(uint32_t node) override { order_.Use(NodeId(node), KeyOf(node)); }
  void AddLeaf(uint32_t node) override { order_.AddLeaf(NodeId(node)); }
  void RemoveLeaf(uint32_t node) override { order_.RemoveLeaf(NodeId(node)); }
  void Forget(uint32_t node) override { order_.Forget(NodeId(node), KeyOf(node)); }
  [[nodiscard]] uint32_t Coldest() override { return order_.Coldest().value(); }

 private:
  // A hash, as the trie's keys are (of SplitMix64).
  static uint64_t KeyOf(uint64_t node) {
    uint64_t z = (node + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }
  LeafOrder order_;
};

std::unique_ptr<BlockOrder> MakeOrder(const Trace& trace, const BlockReplayOptions& options) {
  switch (options.policy) {
    case BlockPolicy::kLru:
      return std::make_unique<LruOrder>(trace, false);
    case BlockPolicy::kSglang:
      return std::make_unique<LruOrder>(trace, true);
    case BlockPolicy::kWeir:
      return std::make_unique<WeirOrder>(options.blocks);
    case BlockPolicy::kBelady:
      return std::make_unique<BeladyOrder>(trace);
  }
  return nullptr;
}

class BlockReplay {
 public:
  BlockReplay(const Trace& trace, const BlockReplayOptions& options)
      : trace_(trace),
        options_(options),
        order_(MakeOrder(trace, options)),
        is_kept_(trace.nodes.size()),
        child_counts_(trace.nodes.size()) {
    is_kept_[0] = true;
  }

  ReplayResult Run() {
    for (const TraceRequest& request : trace_.requests) Step(request);
    return result_;
  }

 private:
  void Step(const TraceRequest& request) {
    path_.clear();  // deepest first
    for (uint32_t n = request.last_node; n != 0; n = trace_.nodes[n].parent) path_.push_back(n);
    size_t missing = path_.size();
    while (missing > 0 && is_kept_[path_[missing - 1]]) --missing;
    const uint32_t found = missing < path_.size() ? path_[missing] : 0;
    result_.prompt_tokens += request.token_count;
    result_.hit_tokens += trace_.TokensTo(request, trace_.nodes[found].depth);

    if (found != 0 && child_counts_[found] == 0) order_->RemoveLeaf(found);
    order_->Begin();
    for (size_t i = path_.size(); i > 0; --i) order_->Use(path_[i - 1]);
    const uint32_t last = Keep(missing, found);
    if (last != 0 && child_counts_[last] == 0) order_->AddLeaf(last);
    path_.clear();  // it ran
    while (kept_count_ > options_.blocks) EvictOne();
  }

  // Keeps the `missing` deepest blocks of the path; returns the last one that found room.
  uint32_t Keep(size_t missing, uint32_t last) {
    for (size_t i = missing; i > 0; --i) {
      const bool has_room =
          options_.policy == BlockPolicy::kBelady || kept_count_ < options_.blocks || EvictOne();
      if (!has_room) {
        for (; i > 0; --i) order_->Forget(path_[i - 1]);
        break;
      }
      last = path_[i - 1];
      is_kept_[last] = true;
      ++kept_count_;
      ++child_counts_[trace_.nodes[last].parent];
    }
    return last;
  }

  // False: there is no leaf besides the running request's.
  bool EvictOne() {
    uint32_t node = order_->Coldest();
    if (node == 0) return false;
    order_->RemoveLeaf(node);
    for (bool goes_on = true; goes_on;) {
      const uint32_t parent = trace_.nodes[node].parent;
      is_kept_[node] = false;
      --kept_count_;
      const bool is_leaf = --child_counts_[parent] == 0 && parent != 0 && !IsRunning(parent);
      goes_on = is_leaf && order_->GoTogether(node, parent);
      if (is_leaf && !goes_on) order_->AddLeaf(parent);
      order_->Forget(node);
      node = parent;
    }
    return true;
  }

  // Blocks of the path that the request found; those that it adds have no leaves below them.
  [[nodiscard]] bool IsRunning(uint32_t node) const {
    const uint32_t depth = trace_.nodes[node].depth;
    return depth <= path_.size() && path_[path_.size() - depth] == node;
  }

  const Trace& trace_;
  const BlockReplayOptions& options_;
  std::unique_ptr<BlockOrder> order_;
  std::vector<bool> is_kept_;
  std::vector<uint32_t> child_counts_;  // kept children
  uint64_t kept_count_ = 0;
  std::vector<uint32_t> path_;
  ReplayResult result_;
};

}  // namespace

std::string_view NameOf(BlockPolicy policy) {
  switch (policy) {
    case BlockPolicy::kLru:
      return "LRU";
    case BlockPolicy::kSglang:
      return "SGLang-like";
    case BlockPolicy::kWeir:
      return "Weir";
    case BlockPolicy::kBelady:
      return "Belady";
  }
  return "";
}

ReplayResult ReplayBlocks(const Trace& trace, const BlockReplayOptions& options) {
  WEIR_CHECK(options.blocks > 0);
  return BlockReplay(trace, options).Run();
}

}  // namespace weir
