#include "prefix/resume_points.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "prefix/reuse_odds.h"

namespace weir {
namespace {

// Points are alike if they have the class and were resumed before, or were not.
constexpr uint32_t kKindCount = 2 * kResumeClassCount;
// Chance of use in each doubling of the age, by class; points resumed before are twice as likely.
constexpr std::array<double, kKindCount> kPriors = {0.01, 0.02, 0.02, 0.04, 0.08, 0.16, 0.08, 0.16};
constexpr uint32_t kCostCount = 32;  // lists of a kind: tokens in doublings
constexpr uint32_t kGhostList = kKindCount * kCostCount;

constexpr uint64_t kLearnInterval = 32;  // in uses, at least

enum class PointState : uint8_t { kFree, kLive, kGhost };

struct Point {
  uint64_t key = 0;
  uint64_t used_at = 0;  // time
  uint64_t order = 0;    // of uses: no two points are equally old
  uint32_t colder = 0;   // neighbours in its list; 0: the list's end
  uint32_t warmer = 0;
  PointState state = PointState::kFree;
  ResumeClass resume_class = ResumeClass::kPeriodic;
  bool was_resumed = false;
  uint8_t cost = 0;   // log2 of its tokens
  uint8_t phase = 0;  // up to which the odds know that it waits

  [[nodiscard]] uint32_t kind() const {
    return 2 * static_cast<uint32_t>(resume_class) + (was_resumed ? 1 : 0);
  }
};

uint8_t CostOf(uint32_t tokens) {
  return static_cast<uint8_t>(std::bit_width(std::max(tokens, 1U)) - 1);
}

struct List {
  uint32_t coldest = 0;
  uint32_t warmest = 0;
};

// Smaller leaves first. Of like points that are past the best time for a use the oldest comes
// first, of those before it the youngest: so each list rises from both ends.
struct Rank {
  double worth;
  bool is_young;
  uint64_t order;
  auto operator<=>(const Rank&) const = default;
};

}  // namespace

struct ResumePoints::State {
  std::vector<Point> points{Point{}};  // slot 0 is none
  std::vector<uint32_t> free;
  std::array<List, kGhostList + 1> lists;
  std::array<uint32_t, kKindCount> filled{};  // bit c: the list of cost c has points
  std::array<uint32_t, kResumeClassCount> counts{};
  std::unordered_map<uint64_t, uint32_t> slots;  // by key
  ReuseOdds odds{kPriors, kKindCount / kResumeClassCount};
  uint64_t now = 0;  // in requests
  uint64_t uses = 0;
  uint64_t learned_at = 0;
  uint32_t ghosts = 0;
  uint32_t most_live = 0;

  [[nodiscard]] uint32_t LiveSlot(ResumePointId id) const {
    WEIR_CHECK(id.value() < points.size() && points[id.value()].state == PointState::kLive);
    return id.value();
  }
  [[nodiscard]] uint32_t live() const {
    return static_cast<uint32_t>(points.size() - 1 - free.size()) - ghosts;
  }

  uint32_t Take(uint64_t key);
  void Free(uint32_t slot);
  void PushWarmest(uint32_t list, uint32_t slot);
  void Unlink(uint32_t list, uint32_t slot);
  void LinkLive(uint32_t slot);
  void UnlinkLive(uint32_t slot);
  void DropGhost(uint32_t slot);

  // Its age begins anew, in the kind it is now.
  void Restart(uint32_t slot);
  void CountWait(Point& point);
  void CountUse(Point& point);
  void LearnSometimes();

  [[nodiscard]] static uint32_t ListOf(const Point& point) {
    return point.kind() * kCostCount + point.cost;
  }
  [[nodiscard]] bool IsYoung(const Point& point) const {
    return ReuseOdds::PhaseOf(now - point.used_at) < odds.PeakOf(point.kind());
  }
  [[nodiscard]] Rank RankOf(uint32_t slot) const;
  [[nodiscard]] ResumePointId After(uint32_t slot) const;
};

uint32_t ResumePoints::State::Take(uint64_t key) {
  uint32_t slot = static_cast<uint32_t>(points.size());
  if (free.empty()) {
    WEIR_CHECK(points.size() < std::numeric_limits<uint32_t>::max());
    points.emplace_back();
  } else {
    slot = free.back();
    free.pop_back();
  }
  points[slot] = Point{.key = key};
  slots[key] = slot;
  return slot;
}

void ResumePoints::State::Free(uint32_t slot) {
  CountWait(points[slot]);
  const auto found = slots.find(points[slot].key);
  if (found != slots.end() && found->second == slot) slots.erase(found);
  points[slot] = Point{};
  free.push_back(slot);
}

void ResumePoints::State::PushWarmest(uint32_t list, uint32_t slot) {
  Point& point = points[slot];
  point.colder = lists[list].warmest;
  point.warmer = 0;
  (point.colder == 0 ? lists[list].coldest : points[point.colder].warmer) = slot;
  lists[list].warmest = slot;
}

void ResumePoints::State::Unlink(uint32_t list, uint32_t slot) {
  const Point& point = points[slot];
  (point.colder == 0 ? lists[list].coldest : points[point.colder].warmer) = point.warmer;
  (point.warmer == 0 ? lists[list].warmest : points[point.warmer].colder) = point.colder;
}

void ResumePoints::State::LinkLive(uint32_t slot) {
  const Point& point = points[slot];
  PushWarmest(ListOf(point), slot);
  filled[point.kind()] |= 1U << point.cost;
  ++counts[static_cast<size_t>(point.resume_class)];
}

void ResumePoints::State::UnlinkLive(uint32_t slot) {
  const Point& point = points[slot];
  Unlink(ListOf(point), slot);
  if (lists[ListOf(point)].coldest == 0) filled[point.kind()] &= ~(1U << point.cost);
  --counts[static_cast<size_t>(point.resume_class)];
}

void ResumePoints::State::DropGhost(uint32_t slot) {
  Unlink(kGhostList, slot);
  --ghosts;
  Free(slot);
}

void ResumePoints::State::Restart(uint32_t slot) {
  Point& point = points[slot];
  point.used_at = now;
  point.order = uses;
  point.phase = 0;
  odds.NoteWait(point.kind(), 0, 1);
}

void ResumePoints::State::CountWait(Point& point) {
  const uint32_t phase = ReuseOdds::PhaseOf(now - point.used_at);
  if (phase <= point.phase) return;
  odds.NoteWait(point.kind(), point.phase + 1, phase + 1);
  point.phase = static_cast<uint8_t>(phase);
}

void ResumePoints::State::CountUse(Point& point) {
  CountWait(point);
  odds.NoteUse(point.kind(), point.phase);
  point.was_resumed = true;
}

// Each point is looked at once for every few uses.
void ResumePoints::State::LearnSometimes() {
  if (uses - learned_at < std::max<uint64_t>(kLearnInterval, (live() + ghosts) / 4)) return;
  learned_at = uses;
  for (Point& point : points) {
    if (point.state != PointState::kFree) CountWait(point);
  }
  odds.Learn();
}

Rank ResumePoints::State::RankOf(uint32_t slot) const {
  const Point& point = points[slot];
  const uint32_t phase = ReuseOdds::PhaseOf(now - point.used_at);
  const bool is_young = IsYoung(point);
  return {.worth = std::ldexp(odds.Worth(point.kind(), phase), point.cost),
          .is_young = is_young,
          .order = is_young ? ~point.order : point.order};
}

// The first to leave of those that leave after `slot`, 0 meaning of all.
ResumePointId ResumePoints::State::After(uint32_t slot) const {
  const Rank floor = slot == 0 ? Rank{-1, false, 0} : RankOf(slot);
  uint32_t best = 0;
  Rank best_rank{};
  const auto offer = [&](uint32_t candidate) {
    const Rank rank = RankOf(candidate);
    if (best != 0 && rank > best_rank) return;
    best = candidate;
    best_rank = rank;
  };
  for (uint32_t kind = 0; kind < kKindCount; ++kind) {
    for (uint32_t costs = filled[kind]; costs != 0; costs &= costs - 1) {
      const List& list = lists[kind * kCostCount + static_cast<uint32_t>(std::countr_zero(costs))];
      uint32_t old = list.coldest;
      while (old != 0 && !IsYoung(points[old]) && RankOf(old) <= floor) old = points[old].warmer;
      if (old != 0 && !IsYoung(points[old])) offer(old);
      uint32_t young = list.warmest;
      while (young != 0 && IsYoung(points[young]) && RankOf(young) <= floor) {
        young = points[young].colder;
      }
      if (young != 0 && IsYoung(points[young])) offer(young);
    }
  }
  return ResumePointId(best);
}

ResumePoints::ResumePoints() : state_(std::make_unique<State>()) {}
ResumePoints::~ResumePoints() = default;
ResumePoints::ResumePoints(ResumePoints&&) noexcept = default;
ResumePoints& ResumePoints::operator=(ResumePoints&&) noexcept = default;

void ResumePoints::Tick() { ++state_->now; }

ResumePointId ResumePoints::Add(uint64_t key, ResumeClass resume_class, uint32_t tokens) {
  State& state = *state_;
  ++state.uses;
  state.LearnSometimes();
  bool was_resumed = false;
  const auto found = state.slots.find(key);
  if (found != state.slots.end()) {
    const Point& known = state.points[found->second];
    was_resumed = known.was_resumed;
    if (known.state == PointState::kGhost) state.DropGhost(found->second);
  }
  const uint32_t slot = state.Take(key);
  Point& point = state.points[slot];
  point.state = PointState::kLive;
  point.resume_class = resume_class;
  point.was_resumed = was_resumed;
  point.cost = CostOf(tokens);
  state.Restart(slot);
  state.LinkLive(slot);
  state.most_live = std::max(state.most_live, state.live());
  return ResumePointId(slot);
}

void ResumePoints::Reclassify(ResumePointId id, ResumeClass resume_class) {
  State& state = *state_;
  const uint32_t slot = state.LiveSlot(id);
  Point& point = state.points[slot];
  if (point.resume_class == resume_class) return;
  ++state.uses;
  state.CountWait(point);
  state.UnlinkLive(slot);
  point.resume_class = resume_class;
  state.Restart(slot);
  state.LinkLive(slot);
}

void ResumePoints::Touch(ResumePointId id) {
  State& state = *state_;
  const uint32_t slot = state.LiveSlot(id);
  ++state.uses;
  state.UnlinkLive(slot);
  state.CountUse(state.points[slot]);
  state.Restart(slot);
  state.LinkLive(slot);
}

void ResumePoints::Remove(ResumePointId id) {
  const uint32_t slot = state_->LiveSlot(id);
  state_->UnlinkLive(slot);
  state_->Free(slot);
}

std::optional<ResumeClass> ResumePoints::NoteMiss(uint64_t key) {
  State& state = *state_;
  const auto found = state.slots.find(key);
  if (found == state.slots.end() || state.points[found->second].state != PointState::kGhost) {
    return std::nullopt;
  }
  const uint32_t slot = found->second;
  state.CountUse(state.points[slot]);
  state.Restart(slot);
  state.Unlink(kGhostList, slot);  // it is worth knowing a little longer
  state.PushWarmest(kGhostList, slot);
  return state.points[slot].resume_class;
}

ResumePointId ResumePoints::Coldest() const { return state_->After(0); }

ResumePointId ResumePoints::NextColdest(ResumePointId id) const {
  return state_->After(state_->LiveSlot(id));
}

double ResumePoints::WorthOf(ResumePointId id) const {
  return state_->RankOf(state_->LiveSlot(id)).worth;
}

double ResumePoints::WorthOfNew(ResumeClass resume_class, uint32_t tokens) const {
  const Point point{.resume_class = resume_class};
  return std::ldexp(state_->odds.Worth(point.kind(), 0), CostOf(tokens));
}

void ResumePoints::Evict(ResumePointId id) {
  State& state = *state_;
  const uint32_t slot = state.LiveSlot(id);
  state.UnlinkLive(slot);
  state.points[slot].state = PointState::kGhost;
  state.PushWarmest(kGhostList, slot);
  ++state.ghosts;
  while (state.ghosts > kFewGhosts + 2 * state.most_live) {
    state.DropGhost(state.lists[kGhostList].coldest);
  }
}

ResumeClass ResumePoints::ClassOf(ResumePointId id) const {
  return state_->points[state_->LiveSlot(id)].resume_class;
}

uint32_t ResumePoints::count() const { return state_->live(); }

uint32_t ResumePoints::count(ResumeClass resume_class) const {
  return state_->counts[static_cast<size_t>(resume_class)];
}

uint32_t ResumePoints::ghost_count() const { return state_->ghosts; }

}  // namespace weir
