// Which conversation's last full tile leaves first.
//
// Only leaves of the trie may go; a parent becomes one when its last child went. First go those of
// which the owner says that nothing is lost with them. The others go by the rate at which tiles
// like them are used again (ReuseOdds): used as often, after as long a pause, and unused for as
// long. That is learned on a sample of tiles, by key, whether they are still kept or not. Before it
// is learned the order is that of last use. Where conversations come back later than the memory
// reaches, last use would keep none of them until then; this order keeps some, and gives up those
// that just paused.
//
// Time goes by in uses of the trie: all tiles that a request reads or writes are used at one
// moment. Deterministic. Ownership: plain values. Threads: one caller. Leaves are sorted when the
// coldest is asked for: O(1) on average for a use and for a leaf that comes and goes before that,
// O(log n) for one that stays.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "prefix/node_id.h"
#include "prefix/reuse_odds.h"

namespace weir {

class LeafOrder {
 public:
  // `node_count`: about how many nodes there will be. Sets what is remembered of others: about 16
  // bytes for each, and 4 MB.
  explicit LeafOrder(size_t node_count);

  // A new moment.
  void Tick() { ++now_; }
  // `key`, a good hash, names what the node holds, also after it went. A node that was not used
  // before is new, or was forgotten.
  void Use(NodeId node, uint64_t key);
  // The same of a tail, which is wanted as soon and as often as the tile before it.
  void UseTail(NodeId tail, NodeId parent);
  // As if it had been used now, but nobody came back for it.
  void Refresh(NodeId node);
  void Forget(NodeId node, uint64_t key);  // it went; it must not be a leaf any more

  // Requires the node to have been used.
  void AddLeaf(NodeId node);
  void RemoveLeaf(NodeId node);
  // Nothing is lost with this leaf: until its next use it goes before those that may be wanted.
  void PutFirst(NodeId leaf);

  // All nodes at once; what was learned stays.
  void ForgetAll();

  // The leaf to go first, none (0) without leaves.
  [[nodiscard]] NodeId Coldest();
  [[nodiscard]] size_t leaf_count() const { return leaf_count_; }
  [[nodiscard]] bool IsLeaf(NodeId node) const {
    return node.value() < heat_.size() && heat_[node.value()].place != Place::kNone;
  }

 private:
  static constexpr uint32_t kKindCount = 7;
  enum class Place : uint8_t { kNone, kNew, kSorted, kFirst };  // of a leaf
  struct Heat {
    uint64_t used_at = 0;
    uint8_t kind = 0;
    bool is_known = false;
    Place place = Place::kNone;
  };
  struct Watched {  // a tile of the sample since its last use
    uint64_t key = 0;
    uint64_t used_at = 0;
    uint32_t kind = 0;
    uint32_t phase = 0;
  };
  struct Rank {  // smaller goes first; along each set it rises from both ends
    double worth;
    bool is_young;
    uint64_t order;
    uint32_t node;
    auto operator<=>(const Rank&) const = default;
  };
  using Leaves = std::set<std::pair<uint64_t, NodeId>>;  // last use, node

  // The kind that a tile had when it went. Direct-mapped: a newer one takes the place of an older.
  // One stranger in 8,192 is taken for a tile that went.
  class GoneKinds {
   public:
    explicit GoneKinds(size_t slot_count) : slots_(std::bit_ceil(slot_count)) {}
    void Put(uint64_t key, uint32_t kind) {
      slots_[IndexOf(key)] = static_cast<uint16_t>(TagOf(key) | (kind + 1));
    }
    [[nodiscard]] std::optional<uint32_t> Find(uint64_t key) const;

   private:
    static constexpr uint16_t kKindMask = 7;
    [[nodiscard]] static uint16_t TagOf(uint64_t key) {
      return static_cast<uint16_t>(key & ~uint64_t{kKindMask});
    }
    [[nodiscard]] size_t IndexOf(uint64_t key) const { return (key >> 32) & (slots_.size() - 1); }
    std::vector<uint16_t> slots_;  // 13 bits of the key, kind + 1; 0: empty
  };

  [[nodiscard]] Heat& HeatOf(NodeId node);
  void Warm(NodeId node, uint8_t kind);
  [[nodiscard]] uint32_t KindAtUse(const Heat& heat, uint64_t key) const;
  void Watch(uint64_t key, uint32_t kind);
  void CountWait(Watched& watched);
  void LearnSometimes();
  [[nodiscard]] bool IsYoung(uint32_t kind, uint64_t used_at) const {
    return ReuseOdds::PhaseOf(now_ - used_at) < odds_.PeakOf(kind);
  }
  void SortNewLeaves();
  [[nodiscard]] Rank RankOf(NodeId leaf) const;

  std::vector<Heat> heat_;  // by node
  std::array<Leaves, kKindCount> leaves_;
  Leaves first_;                    // before all of these
  std::vector<NodeId> new_leaves_;  // and nodes that were some
  size_t leaf_count_ = 0;
  uint64_t sample_share_;  // one tile in so many is watched; a power of two
  ReuseOdds odds_;
  std::list<Watched> watched_;  // longest unused first
  std::unordered_map<uint64_t, std::list<Watched>::iterator> by_key_;
  size_t most_watched_;
  GoneKinds gone_;
  uint64_t now_ = 0;
  uint64_t watched_uses_ = 0;  // since the last Learn
};

}  // namespace weir
