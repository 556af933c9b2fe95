#include "prefix/resume_points.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"

namespace weir {
namespace {

// Points that leave by their last use alone, after all others: branches and newest ones. The rest
// leaves class by class.
constexpr size_t kQueueCount = 3;

size_t QueueOf(ResumeClass resume_class) {
  return std::min(static_cast<size_t>(resume_class), size_t{kQueueCount - 1});
}

struct Point {
  uint64_t key = 0;
  uint64_t used_at = 0;
  uint32_t colder = 0;  // neighbours in the class's list; 0: the list's end
  uint32_t warmer = 0;
  ResumeClass resume_class = ResumeClass::kPeriodic;
  bool is_live = false;
};

struct List {
  uint32_t coldest = 0;
  uint32_t warmest = 0;
  uint32_t count = 0;
};

}  // namespace

struct ResumePoints::State {
  std::vector<Point> points{Point{}};  // slot 0 is none
  std::vector<uint32_t> free;
  std::array<List, kResumeClassCount> lists;
  uint64_t now = 0;  // grows with each use, so that no two points are equally old
  uint32_t count = 0;

  [[nodiscard]] const Point& At(ResumePointId id) const {
    WEIR_CHECK(id.value() < points.size() && points[id.value()].is_live);
    return points[id.value()];
  }
  [[nodiscard]] Point& At(ResumePointId id) {
    return const_cast<Point&>(std::as_const(*this).At(id));
  }
  [[nodiscard]] List& ListOf(const Point& point) {
    return lists[static_cast<size_t>(point.resume_class)];
  }

  // At the warm end of its class.
  void Link(uint32_t slot) {
    Point& point = points[slot];
    List& list = ListOf(point);
    point.used_at = ++now;
    point.colder = list.warmest;
    point.warmer = 0;
    (list.warmest == 0 ? list.coldest : points[list.warmest].warmer) = slot;
    list.warmest = slot;
    ++list.count;
  }

  void Unlink(uint32_t slot) {
    const Point& point = points[slot];
    List& list = ListOf(point);
    (point.colder == 0 ? list.coldest : points[point.colder].warmer) = point.warmer;
    (point.warmer == 0 ? list.warmest : points[point.warmer].colder) = point.colder;
    --list.count;
  }

  void Drop(uint32_t slot) {
    Unlink(slot);
    points[slot] = Point{};
    free.push_back(slot);
    --count;
  }

  // Smaller leaves first.
  [[nodiscard]] std::tuple<size_t, uint64_t> RankOf(uint32_t slot) const {
    return {QueueOf(points[slot].resume_class), points[slot].used_at};
  }

  // The first to leave of those that leave after `slot`, 0 meaning of all.
  [[nodiscard]] ResumePointId After(uint32_t slot) const {
    uint32_t best = 0;
    for (const List& list : lists) {
      uint32_t candidate = list.coldest;
      if (slot != 0) {
        while (candidate != 0 && RankOf(candidate) <= RankOf(slot)) {
          candidate = points[candidate].warmer;
        }
      }
      if (candidate != 0 && (best == 0 || RankOf(candidate) < RankOf(best))) best = candidate;
    }
    return ResumePointId(best);
  }
};

ResumePoints::ResumePoints() : state_(std::make_unique<State>()) {}
ResumePoints::~ResumePoints() = default;
ResumePoints::ResumePoints(ResumePoints&&) noexcept = default;
ResumePoints& ResumePoints::operator=(ResumePoints&&) noexcept = default;

ResumePointId ResumePoints::Add(uint64_t key, ResumeClass resume_class) {
  State& state = *state_;
  uint32_t slot = static_cast<uint32_t>(state.points.size());
  if (state.free.empty()) {
    WEIR_CHECK(state.points.size() < std::numeric_limits<uint32_t>::max());
    state.points.emplace_back();
  } else {
    slot = state.free.back();
    state.free.pop_back();
  }
  state.points[slot] = Point{.key = key, .resume_class = resume_class, .is_live = true};
  state.Link(slot);
  ++state.count;
  return ResumePointId(slot);
}

void ResumePoints::Reclassify(ResumePointId id, ResumeClass resume_class) {
  Point& point = state_->At(id);
  if (point.resume_class == resume_class) return;
  state_->Unlink(id.value());
  point.resume_class = resume_class;
  state_->Link(id.value());
}

void ResumePoints::Touch(ResumePointId id) {
  WEIR_CHECK(state_->At(id).is_live);
  state_->Unlink(id.value());
  state_->Link(id.value());
}

void ResumePoints::Remove(ResumePointId id) {
  WEIR_CHECK(state_->At(id).is_live);
  state_->Drop(id.value());
}

void ResumePoints::NoteMiss(uint64_t /*key*/) {}

ResumePointId ResumePoints::Coldest() const { return state_->After(0); }

ResumePointId ResumePoints::NextColdest(ResumePointId id) const {
  WEIR_CHECK(state_->At(id).is_live);
  return state_->After(id.value());
}

void ResumePoints::Evict(ResumePointId id) { Remove(id); }

ResumeClass ResumePoints::ClassOf(ResumePointId id) const { return state_->At(id).resume_class; }

uint32_t ResumePoints::count() const { return state_->count; }

uint32_t ResumePoints::count(ResumeClass resume_class) const {
  return state_->lists[static_cast<size_t>(resume_class)].count;
}

}  // namespace weir
