#include "prefix/leaf_order.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace weir {
namespace {

// Kinds: 0 used once; then two for each number of uses (2, 3, more), after a short or a long pause.
constexpr uint32_t kPauses = 2;
constexpr uint32_t kUseCounts = 3;
constexpr uint64_t kLongPause = 8;  // in uses of the trie
constexpr std::array kPriors = {0.06, 0.06, 0.06, 0.06, 0.06, 0.06, 0.06};
static_assert(kPriors.size() == 1 + kPauses * kUseCounts);

uint32_t KindAfter(uint32_t kind, uint64_t pause) {
  const uint32_t uses = kind == 0 ? 0 : std::min((kind - 1) / kPauses + 1, kUseCounts - 1);
  return 1 + kPauses * uses + (pause >= kLongPause ? 1 : 0);
}

// One tile in so many is watched: all of few, where half of them would make it a matter of luck
// what is learned; of very many fewer, for the time it takes.
uint64_t SampleShareOf(size_t node_count) {
  if (node_count < 256) return 1;
  const uint64_t usual = std::clamp<uint64_t>(node_count / 48, 1, 8);
  return std::bit_floor(std::clamp<uint64_t>(node_count / 8192, usual, 32));
}

constexpr uint64_t kLearnInterval = 64;  // in uses of the sample, at least
constexpr size_t kFewNodes = 1 << 15;    // the sample's tiles stand for so many at least
constexpr size_t kFewGone = 1 << 17;
constexpr size_t kManyNewLeaves = 1 << 16;

}  // namespace

LeafOrder::LeafOrder(size_t node_count)
    : sample_share_(SampleShareOf(node_count)),
      odds_(kPriors, kKindCount),
      most_watched_(std::max(kFewNodes, 4 * node_count) / sample_share_),
      gone_(std::max(kFewGone, 2 * node_count)) {
  static_assert(kPriors.size() == kKindCount);
}

std::optional<uint32_t> LeafOrder::GoneKinds::Find(uint64_t key) const {
  const uint16_t slot = slots_[IndexOf(key)];
  if (slot == 0 || TagOf(slot) != TagOf(key)) return std::nullopt;
  return (slot & kKindMask) - 1U;
}

// Of a tile that comes back after it went the pause was a long one.
uint32_t LeafOrder::KindAtUse(const Heat& heat, uint64_t key) const {
  if (heat.is_known) return KindAfter(heat.kind, now_ - heat.used_at);
  const std::optional<uint32_t> gone = gone_.Find(key);
  return gone ? KindAfter(*gone, ~uint64_t{0}) : 0;
}

LeafOrder::Heat& LeafOrder::HeatOf(NodeId node) {
  WEIR_CHECK(node != NodeId());
  if (node.value() >= heat_.size()) heat_.resize(size_t{node.value()} + 1);
  return heat_[node.value()];
}

void LeafOrder::Use(NodeId node, uint64_t key) {
  const Heat& heat = HeatOf(node);
  if (heat.is_known && heat.used_at == now_) return;
  const uint32_t kind = KindAtUse(heat, key);
  if ((key & (sample_share_ - 1)) == 0) Watch(key, kind);
  Warm(node, static_cast<uint8_t>(kind));
}

void LeafOrder::UseTail(NodeId tail, NodeId parent) { Warm(tail, HeatOf(parent).kind); }

void LeafOrder::Refresh(NodeId node) {
  WEIR_CHECK(HeatOf(node).is_known);
  Warm(node, HeatOf(node).kind);
}

void LeafOrder::Warm(NodeId node, uint8_t kind) {
  const bool is_leaf = IsLeaf(node);
  if (is_leaf) RemoveLeaf(node);
  Heat& heat = HeatOf(node);
  heat.kind = kind;
  heat.is_known = true;
  heat.used_at = now_;
  if (is_leaf) AddLeaf(node);
}

void LeafOrder::Forget(NodeId node, uint64_t key) {
  const Heat& heat = HeatOf(node);
  WEIR_CHECK(heat.is_known && !IsLeaf(node));
  gone_.Put(key, heat.kind);
  HeatOf(node) = {};
}

void LeafOrder::ForgetAll() {
  heat_.clear();
  for (Leaves& leaves : leaves_) leaves.clear();
  first_.clear();
  new_leaves_.clear();
  leaf_count_ = 0;
}

void LeafOrder::AddLeaf(NodeId node) {
  Heat& heat = HeatOf(node);
  WEIR_CHECK(heat.is_known && !IsLeaf(node));
  heat.place = Place::kNew;
  ++leaf_count_;
  new_leaves_.push_back(node);
  if (new_leaves_.size() >= kManyNewLeaves) SortNewLeaves();
}

void LeafOrder::RemoveLeaf(NodeId node) {
  Heat& heat = HeatOf(node);
  WEIR_CHECK(IsLeaf(node));
  if (heat.place == Place::kSorted) leaves_[heat.kind].erase({heat.used_at, node});
  if (heat.place == Place::kFirst) first_.erase({heat.used_at, node});
  heat.place = Place::kNone;
  --leaf_count_;
}

void LeafOrder::PutFirst(NodeId leaf) {
  RemoveLeaf(leaf);
  Heat& heat = HeatOf(leaf);
  first_.emplace(heat.used_at, leaf);
  heat.place = Place::kFirst;
  ++leaf_count_;
}

// Most of a new prompt's nodes were leaves only until the next one came.
void LeafOrder::SortNewLeaves() {
  for (const NodeId node : new_leaves_) {
    if (node.value() >= heat_.size()) continue;
    Heat& heat = heat_[node.value()];
    if (heat.place != Place::kNew) continue;
    leaves_[heat.kind].emplace(heat.used_at, node);
    heat.place = Place::kSorted;
  }
  new_leaves_.clear();
}

void LeafOrder::CountWait(Watched& watched) {
  const uint32_t phase = ReuseOdds::PhaseOf(now_ - watched.used_at);
  if (phase > watched.phase) odds_.NoteWait(watched.kind, watched.phase + 1, phase + 1);
  watched.phase = std::max(watched.phase, phase);
}

// A tile of the sample is used now, and waits for the next use as one of `kind`.
void LeafOrder::Watch(uint64_t key, uint32_t kind) {
  ++watched_uses_;
  LearnSometimes();
  const auto [found, is_new] = by_key_.try_emplace(key);
  if (is_new) {
    found->second = watched_.insert(watched_.end(), {.key = key});
  } else {
    Watched& watched = *found->second;
    CountWait(watched);
    odds_.NoteUse(watched.kind, watched.phase);
    watched_.splice(watched_.end(), watched_, found->second);
  }
  *found->second = {.key = key, .used_at = now_, .kind = kind, .phase = 0};
  odds_.NoteWait(kind, 0, 1);
  while (watched_.size() > most_watched_) {
    CountWait(watched_.front());
    by_key_.erase(watched_.front().key);
    watched_.pop_front();
  }
}

// Each watched tile is looked at once for every few uses.
void LeafOrder::LearnSometimes() {
  if (watched_uses_ < std::max<uint64_t>(kLearnInterval, watched_.size() / 4)) return;
  watched_uses_ = 0;
  for (Watched& watched : watched_) CountWait(watched);
  odds_.Learn();
}

LeafOrder::Rank LeafOrder::RankOf(NodeId leaf) const {
  const Heat& heat = heat_[leaf.value()];
  const bool is_young = IsYoung(heat.kind, heat.used_at);
  return {.worth = odds_.Worth(heat.kind, ReuseOdds::PhaseOf(now_ - heat.used_at)),
          .is_young = is_young,
          .order = is_young ? ~heat.used_at : heat.used_at,
          .node = is_young ? ~leaf.value() : leaf.value()};
}

// As the worth of a kind has one peak, each set rises from both ends: the coldest is at one of
// them.
NodeId LeafOrder::Coldest() {
  if (!first_.empty()) return first_.begin()->second;
  SortNewLeaves();
  NodeId coldest;
  Rank rank{};
  const auto offer = [&](NodeId leaf) {
    const Rank its = RankOf(leaf);
    if (coldest != NodeId() && rank < its) return;
    coldest = leaf;
    rank = its;
  };
  for (const Leaves& leaves : leaves_) {
    if (leaves.empty()) continue;
    offer(leaves.begin()->second);
    offer(leaves.rbegin()->second);
  }
  return coldest;
}

}  // namespace weir
