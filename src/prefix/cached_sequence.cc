#include "prefix/cached_sequence.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"

namespace weir {
namespace {

constexpr std::ptrdiff_t kMostBranches = 16;  // that others announce: each keeps a window

// A prompt of one token matches nothing: the last token of a prompt is always computed.
std::span<const TokenId> Unmatchable(std::span<const TokenId> prompt) { return prompt.first(1); }

}  // namespace

uint32_t CheckpointTokens(const KvLayout& layout) {
  if (!layout.window || !layout.full) return 0;
  const uint32_t rows = layout.window->window - 1;  // that resuming at a tile's end reads
  const uint64_t window_bytes = layout.WindowBytes(rows);
  const uint64_t tokens = 2 * window_bytes * kTileTokens / layout.full->tile_bytes();
  return static_cast<uint32_t>(std::max<uint64_t>(tokens, layout.window->window));
}

CachedSequence::CachedSequence(PrefixTrie& trie, KvCache& cache, const ReuseRules& rules,
                               std::string_view name_space)
    : trie_(trie), cache_(cache), rules_(rules), root_(trie.Root(name_space)) {}

SequenceStart CachedSequence::Start(std::span<const TokenId> prompt,
                                    std::span<const uint32_t> message_starts, Reuse reuse) {
  tokens_.assign(prompt.begin(), prompt.end());
  prompt_count_ = static_cast<uint32_t>(prompt.size());
  SequenceStart start;
  const bool started = TryStart(reuse == Reuse::kAll ? prompt : Unmatchable(prompt), start);
  const bool parts = match_.parts && match_.full_length + 1 < prompt_count_;
  const uint32_t parts_at = parts ? match_.full_length : 0;
  if (!started) StartEarlier(prompt, start);
  // What a replay makes again was missed too.
  const uint32_t kept = start.replay_begin < start.position ? start.safe_length : start.position;
  if (reuse == Reuse::kAll) trie_.NoteMiss(match_, prompt, kept);
  start_position_ = start.position;
  PlanResumePoints(message_starts, start, parts_at);
  return start;
}

// There was no room for a copy of the tile that start.position parts: begins where it begins.
void CachedSequence::StartEarlier(std::span<const TokenId> prompt, SequenceStart& start) {
  const uint32_t whole = start.position / kTileTokens * kTileTokens;
  start = {};
  if (TryStart(prompt.first(whole + 1), start)) return;
  start = {};  // it parts an earlier tile
  const bool started = TryStart(Unmatchable(prompt), start);
  WEIR_CHECK(started);  // nothing is copied
}

// The replay that makes the whole full length usable, if it begins behind what is usable anyway.
std::optional<ReplaySpan> CachedSequence::ReplayWorthwhile() const {
  if (!rules_.allow_replay || match_.full_length == match_.safe_length) return std::nullopt;
  const ReplaySpan span = PlanReplay(rules_.layers, cache_.layout(), match_.full_length);
  if (span.begin <= match_.safe_length) return std::nullopt;
  return span;
}

// False when a copy found no room; `start` then says where that was.
bool CachedSequence::TryStart(std::span<const TokenId> prompt, SequenceStart& start) {
  trie_.Match(root_.node(), prompt, match_);
  const uint32_t safe = match_.safe_length >= kLeastReused ? match_.safe_length : 0;
  start = {.position = safe,
           .replay_begin = safe,
           .full_length = match_.full_length,
           .safe_length = match_.safe_length,
           .veto = match_.veto};
  const std::optional<ReplaySpan> replay = ReplayWorthwhile();
  if (replay) {
    start.position = match_.full_length;
    start.replay_begin = replay->begin;
  }
  view_.emplace(cache_);
  // First tile that is published again: a replay heals the tombstones that it passes.
  published_tiles_ =
      (replay ? std::min(start.position, replay->window_whole_from) : start.position) / kTileTokens;
  cursor_ = trie_.Pin(published_tiles_ > 0 ? match_.nodes[published_tiles_ - 1] : root_.node());
  if (start.position > 0) return Adopt(start.position, replay);
  trie_.Stamp(root_.node());
  return true;
}

bool CachedSequence::Adopt(uint32_t position, const std::optional<ReplaySpan>& replay) {
  const uint32_t last = (position - 1) / kTileTokens;
  const Place place{match_.nodes[last], position - last * kTileTokens};
  PrefixPin source = trie_.Pin(place.node);
  trie_.Stamp(place.node);
  if (!replay) trie_.StampResume(place.node, place.count);
  trie_.Supersede(place.node, place.count);  // the conversation goes on from here
  PrefixTiles tiles = trie_.Share(match_, position);
  const bool is_end = place.count == trie_.TokensOf(place.node).size();
  const TileNeed copies = SequenceView::AdoptNeed(tiles, replay);
  if (is_end && !replay && !trie_.MakeRoomFor(trie_.WorthAt(place.node), copies)) {
    // Rather than a point worth more, the tail goes that the conversation goes on from: then its
    // tiles are written on, and no copy is needed.
    source = PrefixPin();
    writes_on_ = trie_.GiveUpTail(place.node);
  }
  trie_.MakeRoom(SequenceView::AdoptNeed(tiles, replay));
  return static_cast<bool>(view_->Adopt(std::move(tiles), replay));
}

void CachedSequence::PlanResumePoints(std::span<const uint32_t> message_starts,
                                      const SequenceStart& start, uint32_t parts_at) {
  planned_.clear();
  const bool lacks_start = start.replay_begin < start.position || writes_on_;
  const auto plan = [&](uint32_t position, ResumeClass resume_class) {
    const bool is_new = position > start.position || (position == start.position && lacks_start);
    if (is_new && position <= prompt_count_) {
      planned_.push_back({position, resume_class});
    }
  };
  // Two prompts part here: the next to part here will resume.
  if (parts_at > 0) plan(parts_at, ResumeClass::kBranch);
  if (writes_on_) plan(start.position, ResumeClass::kSuperseded);
  for (const uint32_t position : message_starts) plan(position, ResumeClass::kPeriodic);
  if (rules_.checkpoint_tokens > 0) {
    const uint32_t step = rules_.checkpoint_tokens;
    for (uint32_t p = (start.position / step + 1) * step; p < prompt_count_; p += step) {
      plan(p, ResumeClass::kPeriodic);
    }
  }
  // Where the same prompt again, and another answer to it, resume. The conversation goes on from
  // the answer's end, which Finish adds.
  plan(prompt_count_ - 1, ResumeClass::kSuperseded);
  plan(prompt_count_, ResumeClass::kSuperseded);
  std::ranges::stable_sort(planned_, {}, &PlannedPoint::position);
}

void CachedSequence::ExpectBranch(uint32_t position) {
  if (position <= token_count() || position > tokens_.size()) return;
  const auto at = std::ranges::lower_bound(planned_, position, {}, &PlannedPoint::position);
  const bool is_planned = at != planned_.end() && at->position == position;
  const auto branches =
      std::ranges::count(planned_, ResumeClass::kBranch, &PlannedPoint::resume_class);
  if (is_planned || branches >= kMostBranches) return;
  planned_.insert(at, {position, ResumeClass::kBranch});
}

Result<KvChunk> CachedSequence::BeginChunk(uint32_t count) {
  WEIR_CHECK(token_count() + count <= tokens_.size());
  PlanRetained(token_count() + count);
  const TileNeed need = view_->NeedFor(count, Retained());
  const bool has_full = trie_.MakeRoom({.full = need.full});
  if (has_full && !trie_.MakeRoomFor(0, {.window = need.window, .owed = need.owed})) {
    RetainWhatIsWorthIt(count);
  }
  return view_->BeginChunk(count, Retained());
}

// The planned points up to `end`.
void CachedSequence::PlanRetained(uint32_t end) {
  retain_.clear();
  for (const PlannedPoint& point : planned_) {
    if (point.position <= end) retain_.push_back(point.position);
  }
}

// Not all fit without giving something up. After what the chunk cannot do without, each point has
// its turn, and takes the place of none that is worth as much.
void CachedSequence::RetainWhatIsWorthIt(uint32_t count) {
  std::vector<PlannedPoint> due(planned_.begin(),
                                planned_.begin() + static_cast<std::ptrdiff_t>(retain_.size()));
  const auto worth_of = [this](const PlannedPoint& point) {
    return trie_.WorthOf(point.resume_class, point.position);
  };
  std::ranges::stable_sort(due, std::ranges::greater(), worth_of);
  retain_.clear();
  if (!MakeRoomWorth(PrefixTrie::kAnyWorth, count)) {
    ReleaseOwnWindows();
    if (!MakeRoomWorth(PrefixTrie::kAnyWorth, count)) return;
  }
  for (const PlannedPoint& point : due) {
    retain_.push_back(point.position);
    if (!MakeRoomWorth(worth_of(point), count)) retain_.pop_back();
  }
}

// Makes room for the chunk's recent tiles and the points in retain_, tile by tile in the order of
// what is lost with them, and gives up no point that is worth `worth`.
bool CachedSequence::MakeRoomWorth(double worth, uint32_t count) {
  const auto free_after = [](const TilePool* pool, uint32_t need) {
    return pool != nullptr ? std::min(need, pool->free_count() + 1) : 0;
  };
  for (;;) {
    TileNeed need = view_->NeedFor(count, Retained());
    need.full = 0;
    if (trie_.MakeRoomFor(0, need)) return true;
    if (GiveUpLeavingTile(need, worth)) continue;
    const TileNeed next{.window = free_after(cache_.window_pool(), need.window),
                        .owed = free_after(cache_.owed_pool(), need.owed)};
    if (!trie_.MakeRoomFor(worth, next)) return false;
  }
}

// One of a pool that is short: the chunk takes over the slot if nobody else has the tile.
bool CachedSequence::GiveUpLeavingTile(const TileNeed& need, double worth) {
  const auto is_short = [](const TilePool* pool, uint32_t tiles) {
    return pool != nullptr && pool->free_count() < tiles;
  };
  const bool is_window_short = is_short(cache_.window_pool(), need.window);
  const bool is_owed_short = is_short(cache_.owed_pool(), need.owed);
  const std::vector<NodeTiles> leaving = view_->LeavingTiles();
  return std::ranges::any_of(leaving, [&](const NodeTiles& tiles) {
    const bool is_of_use = (tiles.window && is_window_short) || (tiles.owed && is_owed_short);
    return is_of_use && trie_.DropUnlessWorth(tiles, worth);
  });
}

RetainPlan CachedSequence::Retained() const {
  return {.resume_positions = retain_, .keep_interior = !is_detached_};
}

void CachedSequence::ReleaseOwnWindows() {
  const uint32_t tile_count = (token_count() + kTileTokens - 1) / kTileTokens;
  for (uint32_t tile = tile_count; tile > 0 && view_->HasRecentTile(tile - 1); --tile) {
    trie_.DropTiles(view_->TilesAt(tile - 1));
  }
}

void CachedSequence::Commit(KvChunk&& chunk) {
  view_->Commit(std::move(chunk));
  if (!is_detached_) {
    PublishWholeTiles();
    PublishResumePoints();
  }
  view_->ReleaseKept();
}

void CachedSequence::PublishWholeTiles() {
  for (; !is_detached_ && (published_tiles_ + 1) * kTileTokens <= token_count();
       ++published_tiles_) {
    const auto tile_tokens = tokens().subspan(size_t{published_tiles_} * kTileTokens, kTileTokens);
    NodeTiles tiles = view_->TilesAt(published_tiles_);
    const NodeId node = trie_.Insert(cursor_.node(), tile_tokens, tiles);
    if (node == NodeId()) {
      is_detached_ = true;
      return;
    }
    view_->Repoint(published_tiles_, tiles);
    cursor_ = trie_.Pin(node);
  }
}

void CachedSequence::PublishResumePoints() {
  const auto due = std::ranges::find_if(
      planned_, [this](const PlannedPoint& point) { return point.position > token_count(); });
  for (auto point = planned_.begin(); point != due; ++point) {
    KeepResumePoint(point->position, point->resume_class);
  }
  planned_.erase(planned_.begin(), due);
}

CachedSequence::Place CachedSequence::PlaceOf(uint32_t position) {
  const uint32_t tile = (position - 1) / kTileTokens;
  const uint32_t count = position - tile * kTileTokens;
  if (tile < published_tiles_) {
    NodeId node = cursor_.node();
    for (uint32_t i = published_tiles_ - 1; i > tile; --i) node = trie_.ParentOf(node);
    return {node, count};
  }
  // The tile is not whole yet: the tail holds the rows so far, and the view goes on behind them.
  NodeTiles tiles = view_->TilesAt(tile);
  const NodeId node =
      trie_.Insert(cursor_.node(), tokens().subspan(size_t{tile} * kTileTokens, count), tiles);
  return {node, count};
}

void CachedSequence::KeepResumePoint(uint32_t position, ResumeClass resume_class) {
  if (is_detached_ || position == 0) return;
  const Place place = PlaceOf(position);
  if (place.node == NodeId()) {
    is_detached_ = true;
    return;
  }
  trie_.AddResumePoint(place.node, place.count, resume_class);
}

void CachedSequence::Finish() {
  const uint32_t end = token_count();
  if (is_detached_ || end == 0 || end < start_position_) return;  // nothing new, or in a replay
  const Place place = PlaceOf(end);
  if (place.node == NodeId()) return;
  if (trie_.AddResumePoint(place.node, place.count, ResumeClass::kNewest)) {
    trie_.Supersede(place.node, place.count - 1);
  }
  trie_.Restamp(place.node);
}

}  // namespace weir
