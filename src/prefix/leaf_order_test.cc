#include "prefix/leaf_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "prefix/reuse_odds.h"
#include "support/seed.h"

namespace weir {
namespace {

// Takes all leaves out, one after the other, and puts them back.
std::vector<NodeId> InOrder(LeafOrder& order) {
  std::vector<NodeId> leaves;
  for (NodeId leaf = order.Coldest(); leaf != NodeId(); leaf = order.Coldest()) {
    leaves.push_back(leaf);
    order.RemoveLeaf(leaf);
  }
  for (const NodeId leaf : leaves) order.AddLeaf(leaf);
  return leaves;
}

constexpr NodeId kA(1);
constexpr NodeId kB(2);
constexpr NodeId kC(3);

TEST(LeafOrder, HasNoColdestWithoutLeaves) {
  LeafOrder order(10);
  order.Use(kA, 1);
  EXPECT_EQ(order.Coldest(), NodeId());
}

TEST(LeafOrder, IsThatOfLastUseBeforeAnythingIsLearned) {
  LeafOrder order(10);
  for (const NodeId node : {kA, kB, kC}) {
    order.Tick();
    order.Use(node, node.value());
    order.AddLeaf(node);
  }
  EXPECT_EQ(InOrder(order), (std::vector{kA, kB, kC}));
  order.Tick();
  order.Use(kA, kA.value());
  EXPECT_EQ(InOrder(order), (std::vector{kB, kC, kA}));
  order.Tick();
  order.Refresh(kB);
  EXPECT_EQ(InOrder(order), (std::vector{kC, kA, kB}));
  order.RemoveLeaf(kA);
  EXPECT_EQ(InOrder(order), (std::vector{kC, kB}));
  EXPECT_EQ(order.leaf_count(), 2U);
}

// Used in turn, eight long: whoever was used just now will be wanted last.
TEST(LeafOrder, LearnsThatUsersTakeTurns) {
  LeafOrder order(10);
  for (uint32_t node = 1; node <= 8; ++node) {
    order.Use(NodeId(node), node * 8);
    order.AddLeaf(NodeId(node));
  }
  for (uint32_t turn = 0; turn < 800; ++turn) {
    order.Tick();
    order.Use(NodeId(1 + turn % 8), (1 + turn % 8) * 8);
  }
  EXPECT_EQ(order.Coldest(), NodeId(8));
}

TEST(LeafOrder, PutsALeafFirstUntilItsNextUse) {
  LeafOrder order(10);
  for (uint32_t node = 1; node <= 3; ++node) {
    order.Tick();
    order.Use(NodeId(node), node * 8);
    order.AddLeaf(NodeId(node));
  }
  order.PutFirst(NodeId(3));
  order.PutFirst(NodeId(2));
  EXPECT_EQ(order.leaf_count(), 3U);
  EXPECT_EQ(order.Coldest(), NodeId(2));  // of these by last use
  order.RemoveLeaf(NodeId(2));
  EXPECT_EQ(order.Coldest(), NodeId(3));
  order.Tick();
  order.Use(NodeId(3), 3 * 8);
  EXPECT_EQ(order.Coldest(), NodeId(1));
}

TEST(LeafOrder, TakesATailForWhatTheTileBeforeItIs) {
  LeafOrder order(10);
  // Tile 1 is used again and again, each time with a new tail; tiles like 2 never are.
  order.Use(NodeId(1), 8);
  for (uint32_t turn = 0; turn < 100; ++turn) {
    order.Tick();
    order.Use(NodeId(2), 1000 + turn * 8);
    order.Forget(NodeId(2), 1000 + turn * 8);
    order.Use(NodeId(1), 8);
    order.UseTail(NodeId(3), NodeId(1));
    order.Forget(NodeId(3), 0);
  }
  order.UseTail(NodeId(3), NodeId(1));
  order.AddLeaf(NodeId(3));
  order.Tick();
  order.Use(NodeId(2), 8000);
  order.AddLeaf(NodeId(2));
  EXPECT_EQ(order.Coldest(), NodeId(2));
}

// A table of all nodes, searched and sorted whole; the odds counted anew from all waits so far.
class Twin {
 public:
  static constexpr std::array kPriors = {0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06};

  void Tick() { ++now_; }
  void Use(NodeId id, uint64_t key) {
    Node& node = nodes_[id];
    if (node.is_known && node.used_at == now_) return;
    const bool was_gone = !node.is_known && gone_.contains(key);
    if (node.is_known || was_gone) {
      const uint32_t before = was_gone ? gone_.at(key) : node.kind;
      const bool is_long = was_gone || now_ - node.used_at >= 8;
      const uint32_t uses = before == 0 ? 2 : std::min<uint32_t>((before + 1) / 2 + 2, 4);
      node.kind = 1 + 2 * (uses - 2) + (is_long ? 1 : 0);
    } else {
      node.kind = 0;
    }
    node.is_known = true;
    node.is_first = false;
    node.used_at = now_;
    Watch(key, node.kind);  // of so few nodes all are in the sample
  }
  void UseTail(NodeId tail, NodeId parent) {
    nodes_[tail] = {
        .is_known = true, .is_leaf = IsLeaf(tail), .kind = nodes_.at(parent).kind, .used_at = now_};
  }
  void Refresh(NodeId id) {
    nodes_[id].used_at = now_;
    nodes_[id].is_first = false;
  }
  void PutFirst(NodeId id) { nodes_[id].is_first = true; }
  void PutNoneFirst() {
    for (auto& [id, node] : nodes_) node.is_first = false;
  }
  void Forget(NodeId id, uint64_t key) {
    gone_[key] = nodes_[id].kind;
    nodes_.erase(id);
  }
  void SetLeaf(NodeId id, bool is_leaf) {
    nodes_[id].is_leaf = is_leaf;
    nodes_[id].is_first = false;
  }
  [[nodiscard]] bool Knows(NodeId id) const { return nodes_.contains(id); }
  [[nodiscard]] bool IsLeaf(NodeId id) const { return Knows(id) && nodes_.at(id).is_leaf; }

  [[nodiscard]] std::vector<NodeId> Order() const {
    std::vector<NodeId> leaves;
    for (const auto& [id, node] : nodes_) {
      if (node.is_leaf) leaves.push_back(id);
    }
    std::ranges::sort(leaves, {}, [this](NodeId id) {
      const Node& node = nodes_.at(id);
      if (node.is_first) return std::tuple(-1.0, false, node.used_at, id.value());
      const uint32_t phase = ReuseOdds::PhaseOf(now_ - node.used_at);
      const bool is_young = phase < odds_.PeakOf(node.kind);
      return std::tuple(odds_.Worth(node.kind, phase), is_young,
                        is_young ? ~node.used_at : node.used_at,
                        is_young ? ~id.value() : id.value());
    });
    return leaves;
  }

 private:
  struct Node {
    bool is_known = false;
    bool is_leaf = false;
    bool is_first = false;
    uint32_t kind = 0;
    uint64_t used_at = 0;
  };
  struct Wait {
    uint64_t key = 0;
    uint32_t kind = 0;
    uint64_t begin = 0;
    std::optional<uint64_t> end;  // by a use
  };

  void Watch(uint64_t key, uint32_t kind) {
    if (++uses_ >= 64) {  // few keys: never a longer interval
      uses_ = 0;
      Learn();
    }
    for (Wait& wait : waits_) {
      if (wait.key == key && !wait.end) wait.end = now_;
    }
    waits_.push_back({.key = key, .kind = kind, .begin = now_, .end = std::nullopt});
  }
  void Learn() {
    odds_ = ReuseOdds(kPriors, kPriors.size());
    for (const Wait& wait : waits_) {
      const uint32_t phase = ReuseOdds::PhaseOf(wait.end.value_or(now_) - wait.begin);
      odds_.NoteWait(wait.kind, 0, phase + 1);
      if (wait.end) odds_.NoteUse(wait.kind, phase);
    }
    odds_.Learn();
  }

  std::map<NodeId, Node> nodes_;
  std::map<uint64_t, uint32_t> gone_;
  std::vector<Wait> waits_;
  ReuseOdds odds_{kPriors, kPriors.size()};
  uint64_t now_ = 0;
  uint64_t uses_ = 0;
};

TEST(LeafOrder, IsThatOfASlowTwin) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  // Keys in slots of their own, so that none is pushed out of the memory of those that went.
  const auto key_of = [](NodeId node) { return uint64_t{node.value()} << 32 | node.value() * 8; };
  LeafOrder order(10);
  Twin twin;
  for (int step = 0; step < 6000; ++step) {
    // A third of the nodes is used ten times as often as the rest.
    const NodeId node(
        static_cast<uint32_t>(random() % 10 == 0 ? 11 + random() % 20 : 1 + random() % 10));
    const uint64_t what = random() % 10;
    if (what < 6 || !twin.Knows(node)) {
      if (random() % 4 != 0) {
        order.Tick();
        twin.Tick();
      }
      order.Use(node, key_of(node));
      twin.Use(node, key_of(node));
    } else if (what < 7) {
      order.Refresh(node);
      twin.Refresh(node);
    } else if (what < 9) {
      const bool is_leaf = twin.IsLeaf(node);
      is_leaf ? order.RemoveLeaf(node) : order.AddLeaf(node);
      twin.SetLeaf(node, !is_leaf);
    } else if (twin.IsLeaf(node)) {
      order.PutFirst(node);
      twin.PutFirst(node);
    } else if (const NodeId parent(node.value() + 1); step % 2 == 0 && twin.Knows(parent)) {
      order.UseTail(node, parent);
      twin.UseTail(node, parent);
    } else {
      order.Forget(node, key_of(node));
      twin.Forget(node, key_of(node));
    }
    ASSERT_EQ(InOrder(order), twin.Order()) << "step " << step;
    twin.PutNoneFirst();  // InOrder takes all leaves out and puts them in again
  }
}

}  // namespace
}  // namespace weir
