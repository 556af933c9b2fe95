// Random operations on the trie, compared with a twin that keeps every node under its full text.
//
// The twin says exactly which nodes, tiles and bytes there are after each operation, but for
// evictions: there it says what may go, what must stay, and how much must be free.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "prefix/prefix_trie.h"
#include "support/prefix_kv.h"
#include "support/seed.h"
#include "support/trie_twin_records.h"
#include "support/trie_twin_state.h"

namespace weir {
namespace {

using test::HeldPin;
using test::Key;
using test::Member;
using test::Record;
using test::Text;
using test::Tiles;

uint32_t Common(std::span<const TokenId> a, std::span<const TokenId> b) {
  uint32_t count = 0;
  while (count < a.size() && count < b.size() && a[count] == b[count]) ++count;
  return count;
}

bool Begins(std::span<const TokenId> beginning, std::span<const TokenId> text) {
  return beginning.size() < text.size() && Common(beginning, text) == beginning.size();
}

class Machine : private test::TrieTwinState {
 public:
  Machine(const test::PrefixKvShape& shape, uint64_t hash_mask, uint64_t seed)
      : TrieTwinState(shape, hash_mask, seed) {
    for (const TokenId first : {TokenId(1), TokenId(1), TokenId(2)}) {
      library_.emplace_back(128, first);
    }
    std::fill(library_[1].begin() + 100, library_[1].end(), TokenId(3));
    TakeRoots();
  }

  void Step() {
    switch (Draw(18)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return Insert();
      case 5:
      case 6:
      case 7:
        return Match();
      case 8:
        return AddPoint();
      case 9:
        return Use();
      case 10:
        return Pin();
      case 11:
        return Unpin();
      case 12:
        return DropView();
      case 13:
        return DropSidecars();
      case 14:
        return Draw(6) == 0 ? Flush() : DropView();
      case 15:
        return GiveUpTail();
      default:
        return Draw(3) > 0 ? MakeRoom({Draw(45), Draw(45), Draw(45)}) : MakeRoomForLittle();
    }
  }

  // After each operation.
  void Check() {
    trie_.CheckInvariants();
    std::set<NodeId> expected;
    for (const auto& [key, record] : nodes_) expected.insert(record.id);
    const std::vector<NodeId> order = trie_.Nodes();
    ASSERT_EQ(std::set<NodeId>(order.begin(), order.end()), expected);
    for (const auto& [key, record] : nodes_) CheckNode(key, record);
    const PrefixTrieStats stats = trie_.stats();
    ASSERT_EQ(stats.nodes, nodes_.size());
    ASSERT_EQ(stats.pinned, pins_.size() + roots_.size());
    ASSERT_EQ(stats.tails, Count([](const Key& key, const Record&) { return key.is_tail(); }));
    const auto has_none = [](const Key&, const Record& record) { return !record.window.value(); };
    ASSERT_EQ(stats.tombstones, window() != nullptr ? Count(has_none) : 0);
    CheckPool(full(), &Record::full);
    CheckPool(window(), &Record::window);
    CheckPool(owed(), &Record::owed);
  }

  void Finish() {
    views_.clear();
    while (!pins_.empty() && !testing::Test::HasFatalFailure()) Unpin();
    MakeRoom({1000, 1000, 1000});
    for (const TilePool* pool : {full(), window(), owed()}) {
      if (pool != nullptr) {
        EXPECT_EQ(pool->used_count(), 0U);
      }
    }
    roots_.clear();
    trie_.CheckInvariants();
  }

 private:
  Key RandomNode() {  // some node; a root when there is none
    if (nodes_.empty()) return {Draw(2), {}};
    return std::next(nodes_.begin(), Draw(static_cast<uint32_t>(nodes_.size())))->first;
  }
  Key RandomParent() {
    Key key = Draw(4) == 0 ? Key{Draw(2), {}} : RandomNode();
    while (key.is_tail() || key.text.size() > 4 * 128) key = key.Parent();
    return key;
  }
  Text RandomOwn() {
    constexpr size_t kCounts[] = {1, 2, 30, 99, 100, 101, 127};
    const Text& whole = library_[Draw(3)];
    if (Draw(2) == 0) return whole;
    Text tail(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(kCounts[Draw(7)]));
    if (Draw(4) == 0) tail.back() = TokenId(5);
    return tail;
  }

  // --- what tiles there are ---------------------------------------------------------------------

  void CheckPool(const TilePool* pool, Member member) {
    Tiles used = InViews(member);
    for (const auto& [key, record] : nodes_) used.insert(record.*member);
    if (member == &Record::full) used.merge(Flushed());
    used.erase(TileId());
    ASSERT_EQ(pool != nullptr ? pool->used_count() : 0, used.size());
  }
  void CheckNode(const Key& key, const Record& record) {
    ASSERT_TRUE(std::ranges::equal(trie_.TokensOf(record.id), key.Own()));
    ASSERT_EQ(trie_.StartOf(record.id), key.text.size() - key.OwnCount());
    ASSERT_EQ(trie_.ParentOf(record.id), IdOf(key.Parent()));
    ASSERT_EQ(trie_.HasWindow(record.id), record.window != TileId());
    ASSERT_EQ(trie_.HasOwed(record.id), record.owed != TileId());
  }

  // --- operations -------------------------------------------------------------------------------

  NodeTiles NewTiles() {
    if (Draw(3) > 0) MakeRoom({1, Draw(2), Draw(2)});
    NodeTiles tiles = kv_.Allocate();
    if (Draw(5) == 0) tiles.window = TileRef();
    if (Draw(5) == 0) tiles.owed = TileRef();
    return tiles;
  }
  // A sequence may go on in the tile that it has lent before.
  NodeTiles TilesFor(const Key& key) {
    for (const auto& [other, view] : views_) {
      const bool grows = other.root == key.root && Begins(other.text, key.text) &&
                         key.text.size() - other.text.size() < 128 && other.is_tail() &&
                         other.Parent() == key.Parent();
      if (grows && Draw(2) == 0) {
        return {view.full.Share(), view.window.Share(), view.owed.Share()};
      }
    }
    return NewTiles();
  }

  void Insert() {
    Key key = RandomParent();
    const Text own = RandomOwn();
    const Key parent = key;
    key.text.insert(key.text.end(), own.begin(), own.end());
    NodeTiles tiles = TilesFor(key);
    if (full() != nullptr && !tiles.full) return;
    // NewTiles may have evicted the parent.
    if (!parent.is_root() && !nodes_.contains(parent)) return;
    const NodeId id = trie_.Insert(IdOf(parent), own, tiles);
    if (!nodes_.contains(key) && IsNeedless(key, tiles, id)) return;
    const bool is_new = !nodes_.contains(key);
    Record& record = nodes_[key];
    if (is_new) record.id = id;
    ASSERT_EQ(record.id, id);
    const bool filled = Give(record, tiles);
    if (is_new || filled) RetireBeginnings(key);
    if (Draw(2) == 0) views_.emplace_back(key, std::move(tiles));
  }

  // Whether a longer child with all that `tiles` has stands for the tail; then the trie said so.
  bool IsNeedless(const Key& key, const NodeTiles& tiles, NodeId answer) {
    std::set<NodeId> continuations;
    for (const Key& child : ChildrenOf(key.Parent())) {
      const Record& record = nodes_.at(child);
      if (Begins(key.Own(), child.Own()) && (!tiles.window || record.window.value() != 0) &&
          (!tiles.owed || record.owed.value() != 0)) {
        continuations.insert(record.id);
      }
    }
    if (continuations.empty()) return false;
    EXPECT_TRUE(continuations.contains(answer));
    return true;
  }

  bool Give(Record& record, const NodeTiles& tiles) {
    bool filled = false;
    for (const Member member : {&Record::full, &Record::window, &Record::owed}) {
      const TileId given = IdIn(tiles, member);
      if (given == TileId()) continue;
      if (record.*member == TileId()) {
        record.*member = given;
        filled |= member != &Record::full;
      }
      EXPECT_EQ(given, record.*member);  // kept or repointed
    }
    return filled;
  }

  bool CanRetire(const Key& tail, const Key& by) {
    const Record& a = nodes_.at(tail);
    const Record& b = nodes_.at(by);
    return a.pins == 0 && tail.Parent() == by.Parent() && Begins(tail.Own(), by.Own()) &&
           (a.window == TileId() || b.window != TileId()) &&
           (a.owed == TileId() || b.owed != TileId());
  }
  void RetireBeginnings(const Key& key) {
    for (const Key& sibling : ChildrenOf(key.Parent())) {
      if (CanRetire(sibling, key)) nodes_.erase(sibling);
    }
  }

  void Match() {
    Key key = RandomParent();
    for (uint32_t more = Draw(3); more > 0; --more) {
      const Text own = RandomOwn();
      key.text.insert(key.text.end(), own.begin(), own.end());
    }
    if (key.text.empty()) key.text.emplace_back(9);
    if (Draw(3) == 0) key.text.resize(1 + Draw(static_cast<uint32_t>(key.text.size())));
    PrefixMatch match;
    trie_.Match(roots_[key.root].node(), key.text, match);
    CheckMatch(key, match);
    if (!testing::Test::HasFatalFailure()) CheckShared(match);
    trie_.NoteMiss(match, key.text, Draw(match.full_length + 1));
  }

  void CheckMatch(const Key& prompt, const PrefixMatch& match) {
    Key at{prompt.root, {}};
    std::vector<NodeId> whole;
    const std::span<const TokenId> text = prompt.text;
    while (at.text.size() + 128 <= text.size()) {
      const Key next{
          at.root, Text(text.begin(), text.begin() + static_cast<ptrdiff_t>(at.text.size() + 128))};
      if (!nodes_.contains(next)) break;
      whole.push_back(nodes_.at(next).id);
      at = next;
    }
    const std::span<const TokenId> rest = text.subspan(at.text.size());
    uint32_t common = 0;
    for (const Key& child : ChildrenOf(at)) common = std::max(common, Common(child.Own(), rest));
    const auto limit =
        static_cast<uint32_t>(std::min<size_t>(at.text.size() + common, prompt.text.size() - 1));
    ASSERT_EQ(match.full_length, limit);
    uint32_t safe = common == 0 ? SafeLength(at, limit) : 0;
    std::set<NodeId> last;
    for (const Key& child : ChildrenOf(at)) {
      if (common == 0 || Common(child.Own(), rest) < common) continue;
      safe = std::max(safe, SafeLength(child, limit));
      last.insert(nodes_.at(child).id);
    }
    ASSERT_EQ(match.safe_length, safe);
    ASSERT_EQ(match.veto == ResumeVeto::kNone, safe == limit);
    ASSERT_EQ(match.nodes.size(), whole.size() + (common > 0 ? 1 : 0));
    ASSERT_TRUE(std::equal(whole.begin(), whole.end(), match.nodes.begin()));
    if (common > 0) {
      ASSERT_TRUE(last.contains(match.nodes.back()));
    }
  }

  void CheckShared(const PrefixMatch& match) {
    const uint32_t position = match.safe_length;
    PrefixTiles shared = trie_.Share(match, position);
    ASSERT_EQ(shared.tiles.size(), (position + 127) / 128);
    const ResumeNeeds needs = trie_.resume_needs();
    for (uint32_t tile = 0; tile < shared.tiles.size(); ++tile) {
      NodeTiles& tiles = shared.tiles[tile];
      ASSERT_EQ(static_cast<bool>(tiles.full), full() != nullptr);
      const uint32_t last_row = std::min(128 * (tile + 1), position) - 1;
      ASSERT_EQ(static_cast<bool>(tiles.window), last_row + needs.window > position);
      ASSERT_EQ(static_cast<bool>(tiles.owed),
                needs.owes_rows && tile + needs.residual >= position / 128);
      if (Draw(8) == 0) views_.emplace_back(Key{2, Text(1)}, std::move(tiles));
    }
  }

  void AddPoint() {
    const Key key = RandomNode();
    if (key.is_root()) return;
    const uint32_t count = 1 + Draw(static_cast<uint32_t>(key.OwnCount()));
    const auto position = static_cast<uint32_t>(key.text.size() - key.OwnCount() + count);
    const auto resume_class = static_cast<ResumeClass>(Draw(4));
    ASSERT_EQ(trie_.AddResumePoint(nodes_.at(key).id, count, resume_class),
              IsSafe(PathTo(key), position));
  }

  void Use() {
    const Key key = RandomNode();
    if (key.is_root()) return;
    const NodeId id = nodes_.at(key).id;
    const uint32_t count = 1 + Draw(static_cast<uint32_t>(key.OwnCount()));
    trie_.Stamp(id);
    trie_.StampResume(id, count);
    if (Draw(2) == 0) trie_.Supersede(id, count);
  }

  void Pin() {
    const Key key = RandomNode();
    if (key.is_root() || pins_.size() >= 6) return;
    Record& record = nodes_.at(key);
    ++record.pins;
    pins_.push_back({trie_.Pin(record.id), key, {}, false});
  }

  void Unpin() {
    if (pins_.empty()) return;
    const size_t index = Draw(static_cast<uint32_t>(pins_.size()));
    std::swap(pins_[index], pins_.back());
    HeldPin held = std::move(pins_.back());
    pins_.pop_back();
    held.pin = PrefixPin();
    if (held.is_flushed || --nodes_.at(held.key).pins > 0) return;
    for (const Key& sibling : ChildrenOf(held.key.Parent())) {
      if (!CanRetire(held.key, sibling)) continue;
      nodes_.erase(held.key);
      return;
    }
    RemoveWorthless(held.key);
  }

  // Without a full group a leaf is worth its window.
  void RemoveWorthless(Key key) {
    if (full() != nullptr) return;
    for (; !key.is_root(); key = key.Parent()) {
      const auto node = nodes_.find(key);
      if (node == nodes_.end() || node->second.pins > 0 || node->second.window != TileId()) return;
      if (!IsLeaf(key)) return;
      nodes_.erase(node);
    }
  }

  void DropView() {
    if (views_.empty()) return;
    std::swap(views_[Draw(static_cast<uint32_t>(views_.size()))], views_.back());
    views_.pop_back();
  }

  void DropSidecars() {
    const Key key = RandomNode();
    if (key.is_root() || Draw(3) > 0) return;
    const Record dropped = nodes_.at(key);
    trie_.DropSidecars(dropped.id);
    std::vector<Key> bared;
    for (auto& [other, record] : nodes_) {
      if (dropped.window != TileId() && record.window == dropped.window) {
        record.window = TileId();
        bared.push_back(other);
      }
      if (dropped.owed != TileId() && record.owed == dropped.owed) record.owed = TileId();
    }
    for (const Key& other : bared) RemoveWorthless(other);
  }

  void GiveUpTail() {
    const Key key = RandomNode();
    if (!key.is_tail()) return;
    Text text = key.text;
    text.emplace_back(9);
    PrefixMatch match;
    trie_.Match(roots_[key.root].node(), text, match);
    const Record& record = nodes_.at(key);
    const bool is_longest = match.nodes.back() == record.id;
    const PrefixTiles mine = trie_.Share(match, match.full_length);
    const bool has_users = InViews(&Record::full).contains(record.full) && full() != nullptr;
    const bool given_up = trie_.GiveUpTail(record.id);
    ASSERT_FALSE(given_up && (record.pins > 0 || has_users || !is_longest));
    if (!given_up) return;
    const NodeTiles& last = mine.tiles.back();
    ASSERT_TRUE(!last.full || last.full.is_exclusive());
    ASSERT_TRUE(!last.window || last.window.is_exclusive());
    ASSERT_TRUE(!last.owed || last.owed.is_exclusive());
    nodes_.erase(key);
    RemoveWorthless(key.Parent());
  }

  void Flush() {
    for (HeldPin& held : pins_) {
      if (held.is_flushed) continue;
      held.is_flushed = true;
      for (const Record& record : PathTo(held.key)) held.flushed.insert(record.full);
      held.flushed.erase(TileId());
    }
    ASSERT_EQ(trie_.Flush(), nodes_.size());
    nodes_.clear();
    TakeRoots();
  }

  // --- evictions --------------------------------------------------------------------------------

  void MakeRoom(const TileNeed& need) {
    const std::set<Key> removable = Removable();
    const std::set<Key> all = AllKeys();
    const Room full_room = RoomOf(full(), need.full, CountFreeable(&Record::full, removable));
    const Room window_room = RoomOf(window(), need.window, CountFreeable(&Record::window, all));
    const Room owed_room = RoomOf(owed(), need.owed, CountFreeable(&Record::owed, all));
    const bool made = trie_.MakeRoom(need);
    ASSERT_EQ(made, full_room.is_enough && window_room.is_enough && owed_room.is_enough);

    std::set<Key> gone = Vanished();
    ASSERT_TRUE(std::ranges::includes(removable, gone));
    const bool by_node = full() != nullptr;  // else nodes go only because their windows did
    CheckRoom(full(), full_room, 0);
    CheckRoom(window(), window_room, by_node ? CountFreeable(&Record::window, gone) : 0);
    CheckRoom(owed(), owed_room, by_node ? CountFreeable(&Record::owed, gone) : 0);
    TakeOver(gone);
  }

  // Nothing that a resume point needs goes, so that no position is lost that had one.
  void MakeRoomForLittle() {
    const std::set<Key> removable = Removable();
    const PrefixTrieStats before = trie_.stats();
    trie_.MakeRoomFor(0, {Draw(20), Draw(20), Draw(20)});
    const std::set<Key> gone = Vanished();
    ASSERT_TRUE(std::ranges::includes(removable, gone));
    ASSERT_EQ(trie_.stats().resume_points, before.resume_points);
    TakeOver(gone);
  }

  struct Room {
    uint64_t before = 0;  // free tiles
    uint64_t goal = 0;    // as many as needed, or as can be
    bool is_enough = true;
  };
  static Room RoomOf(const TilePool* pool, uint32_t need, size_t freeable) {
    if (pool == nullptr) return {};
    const uint64_t most = pool->free_count() + freeable;
    return {pool->free_count(), std::min<uint64_t>(need, most), need <= most};
  }
  // No more was freed than needed, besides what went with nodes.
  static void CheckRoom(const TilePool* pool, const Room& room, uint64_t by_nodes) {
    if (pool == nullptr) return;
    ASSERT_EQ(pool->free_count(), std::max(room.before + by_nodes, room.goal));
  }

  std::vector<Text> library_;
};

struct TwinCase {
  const char* name;
  test::PrefixKvShape shape;
  uint64_t hash_mask = ~uint64_t{0};
};

class TrieTwin : public testing::TestWithParam<TwinCase> {};

TEST_P(TrieTwin, AgreesAfterEveryOperation) {
  WEIR_TRACE_SEED();
  for (uint64_t run = 0; run < 5; ++run) {
    Machine machine(GetParam().shape, GetParam().hash_mask, test::Seed() + run);
    for (int step = 0; step < 500; ++step) {
      machine.Step();
      if (!HasFatalFailure()) machine.Check();
      if (HasFailure()) FAIL() << "at step " << step << " of run " << run;
    }
    machine.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, TrieTwin,
    testing::Values(
        TwinCase{"Roomy", {.full_tiles = 40, .window_tiles = 40, .window = 200}},
        TwinCase{"FewWindows", {.full_tiles = 20, .window_tiles = 5, .window = 300}},
        TwinCase{"FewTiles", {.full_tiles = 3, .window_tiles = 3, .window = 129}},
        TwinCase{"WideWindow", {.full_tiles = 16, .window_tiles = 9, .window = 400}},
        TwinCase{"WindowOfOne", {.full_tiles = 12, .window_tiles = 4, .window = 1}},
        TwinCase{"WindowOfTwo", {.full_tiles = 12, .window_tiles = 4, .window = 2}},
        TwinCase{"NoWindowGroup", {.full_tiles = 10, .window = 0}},
        TwinCase{"NoFullGroup", {.full_tiles = 0, .window_tiles = 12, .window = 300}},
        TwinCase{"OwedOpenTile",
                 {.full_tiles = 12, .window_tiles = 6, .residual = 0, .owed_tiles = 4}},
        TwinCase{
            "OwedResidual",
            {.full_tiles = 16, .window_tiles = 8, .window = 130, .residual = 1, .owed_tiles = 5}},
        TwinCase{"OwedAlone", {.full_tiles = 14, .window = 0, .residual = 1, .owed_tiles = 6}},
        TwinCase{"Collisions", {.full_tiles = 24, .window_tiles = 12, .window = 200}, 1},
        TwinCase{"OneHash", {.full_tiles = 12, .window_tiles = 6, .window = 200}, 0}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace weir
