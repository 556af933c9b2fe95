#include "prefix/resume_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "prefix/reuse_odds.h"
#include "support/seed.h"

namespace weir {
namespace {

constexpr std::array kClasses = {ResumeClass::kPeriodic, ResumeClass::kSuperseded,
                                 ResumeClass::kBranch, ResumeClass::kNewest};

std::vector<ResumePointId> InOrder(const ResumePoints& points) {
  std::vector<ResumePointId> order;
  for (ResumePointId id = points.Coldest(); id.value() != 0; id = points.NextColdest(id)) {
    order.push_back(id);
  }
  return order;
}

TEST(ResumePoints, HaveNoColdestWhenEmpty) {
  const ResumePoints points;
  EXPECT_EQ(points.Coldest(), ResumePointId());
  EXPECT_EQ(points.count(), 0U);
}

TEST(ResumePoints, LeaveByClassAndLastUseBeforeAnythingIsKnown) {
  ResumePoints points;
  const ResumePointId newest = points.Add(1, ResumeClass::kNewest);
  const ResumePointId superseded = points.Add(2, ResumeClass::kSuperseded);
  const ResumePointId old_periodic = points.Add(3, ResumeClass::kPeriodic);
  const ResumePointId periodic = points.Add(4, ResumeClass::kPeriodic);
  EXPECT_EQ(InOrder(points), (std::vector{old_periodic, periodic, superseded, newest}));
  EXPECT_EQ(points.count(), 4U);
  EXPECT_EQ(points.count(ResumeClass::kPeriodic), 2U);
}

TEST(ResumePoints, ThatSaveMoreTokensStayLonger) {
  ResumePoints points;
  const ResumePointId long_prompt = points.Add(1, ResumeClass::kNewest, 100'000);
  const ResumePointId short_prompt = points.Add(2, ResumeClass::kNewest, 100);
  EXPECT_EQ(InOrder(points), (std::vector{short_prompt, long_prompt}));
}

TEST(ResumePoints, ASupersededPointGoesBeforeOlderNewestOnes) {
  ResumePoints points;
  const ResumePointId idle = points.Add(1, ResumeClass::kNewest);
  const ResumePointId continued = points.Add(2, ResumeClass::kNewest);
  points.Reclassify(continued, ResumeClass::kSuperseded);
  EXPECT_EQ(InOrder(points), (std::vector{continued, idle}));
  EXPECT_EQ(points.ClassOf(continued), ResumeClass::kSuperseded);
  points.Evict(continued);
  EXPECT_EQ(InOrder(points), std::vector{idle});
}

// A cache of eight points in front of places that all have points.
class SmallCache {
 public:
  void Use(uint64_t key, ResumeClass resume_class) {
    points.Tick();
    if (const auto found = kept_.find(key); found != kept_.end()) {
      ++hits;
      return points.Touch(found->second);
    }
    points.NoteMiss(key);
    kept_[key] = points.Add(key, resume_class);
    if (points.count() <= most_) return;
    const ResumePointId coldest = points.Coldest();
    std::erase_if(kept_, [&](const auto& entry) { return entry.second == coldest; });
    points.Evict(coldest);
  }
  explicit SmallCache(uint32_t most) : most_(most) {}

  ResumePoints points;
  uint32_t hits = 0;

 private:
  uint32_t most_;
  std::map<uint64_t, ResumePointId> kept_;
};

// Five superseded points are resumed in turn; newest ones, which the first order prefers, never
// are.
TEST(ResumePoints, AClassThatComesBackStaysBeforeOneThatDoesNot) {
  SmallCache cache(8);
  for (uint64_t i = 0; i < 1000; ++i) {
    cache.Use(i % 5, ResumeClass::kSuperseded);
    cache.Use(1000 + i, ResumeClass::kNewest);
    cache.Use(5000 + i, ResumeClass::kNewest);
    if (i == 500) cache.hits = 0;
  }
  EXPECT_EQ(cache.points.count(ResumeClass::kSuperseded), 5U);
  EXPECT_EQ(cache.hits, 499U);
}

// Eight conversations take turns and there is room for the points of three. By last use none would
// ever be found; the best possible is three of eight.
TEST(ResumePoints, LearnThatConversationsTakeTurns) {
  SmallCache cache(3);
  constexpr uint32_t kTurns = 8 * 60;
  for (uint32_t turn = 0; turn < kTurns; ++turn) {
    if (turn == kTurns / 2) cache.hits = 0;
    cache.Use(turn % 8, ResumeClass::kNewest);
  }
  EXPECT_GE(cache.hits, 0.9 * 3 / 8 * kTurns / 2);
}

TEST(ResumePoints, KnowWhatWasEvictedButNotWhatWasRemoved) {
  ResumePoints points;
  points.Evict(points.Add(1, ResumeClass::kNewest));
  points.Remove(points.Add(2, ResumeClass::kNewest));
  EXPECT_EQ(points.NoteMiss(1), ResumeClass::kNewest);
  EXPECT_FALSE(points.NoteMiss(2));
  EXPECT_FALSE(points.NoteMiss(3));
  points.Add(1, ResumeClass::kNewest);
  EXPECT_FALSE(points.NoteMiss(1));  // it is there again
  EXPECT_EQ(points.ghost_count(), 0U);
}

TEST(ResumePoints, RememberABoundedNumberOfGhosts) {
  ResumePoints points;
  points.Add(0, ResumeClass::kNewest);
  for (uint64_t key = 1; key < 20'000; ++key) {
    points.Evict(points.Add(key, ResumeClass::kNewest));
  }
  EXPECT_EQ(points.ghost_count(), ResumePoints::kFewGhosts + 2 * 2);
  EXPECT_FALSE(points.NoteMiss(1));
  EXPECT_TRUE(points.NoteMiss(19'999));
}

// Everything in tables that are searched whole, the counts taken anew from all that ever happened.
class Twin {
 public:
  struct Point {
    uint64_t key = 0;
    ResumePointId id;  // none: a ghost
    ResumeClass resume_class{};
    bool was_resumed = false;
    uint32_t tokens = 0;
    size_t wait = 0;  // index in waits_
  };

  void Tick() { ++now_; }
  void Add(uint64_t key, ResumePointId id, ResumeClass resume_class, uint32_t tokens) {
    ++uses_;
    LearnIfDue();
    Point point{.key = key, .id = id, .resume_class = resume_class, .tokens = tokens};
    const auto ghost = std::ranges::find(ghosts_, key, &Point::key);
    if (ghost != ghosts_.end()) {
      point.was_resumed = ghost->was_resumed;
      End(*ghost, false);
      ghosts_.erase(ghost);
    }
    Begin(point);
    points_.push_back(point);
    most_live_ = std::max(most_live_, points_.size());
  }
  void Touch(size_t index) {
    ++uses_;
    End(points_[index], true);
    Begin(points_[index]);
  }
  void Reclassify(size_t index, ResumeClass resume_class) {
    if (points_[index].resume_class == resume_class) return;
    ++uses_;
    End(points_[index], false);
    points_[index].resume_class = resume_class;
    Begin(points_[index]);
  }
  void Remove(size_t index) {
    End(points_[index], false);
    points_.erase(points_.begin() + static_cast<ptrdiff_t>(index));
  }
  void Evict(size_t index) {
    ghosts_.push_back(points_[index]);
    points_.erase(points_.begin() + static_cast<ptrdiff_t>(index));
    if (ghosts_.size() <= ResumePoints::kFewGhosts + 2 * most_live_) return;
    End(ghosts_.front(), false);
    ghosts_.pop_front();
  }
  std::optional<ResumeClass> NoteMiss(uint64_t key) {
    const auto ghost = std::ranges::find(ghosts_, key, &Point::key);
    if (ghost == ghosts_.end()) return std::nullopt;
    Point point = *ghost;
    End(point, true);
    Begin(point);
    ghosts_.erase(ghost);
    ghosts_.push_back(point);
    return point.resume_class;
  }

  [[nodiscard]] const Point& at(size_t index) const { return points_[index]; }
  [[nodiscard]] size_t count() const { return points_.size(); }
  [[nodiscard]] bool Has(uint64_t key) const {
    return std::ranges::find(points_, key, &Point::key) != points_.end();
  }

  [[nodiscard]] std::vector<ResumePointId> Order() const {
    std::vector<Point> sorted = points_;
    const auto rank = [this](const Point& point) {
      const uint64_t age = now_ - waits_[point.wait].begin;
      const uint32_t phase = ReuseOdds::PhaseOf(age);
      const bool is_young = phase < odds_.PeakOf(KindOf(point));
      const double tokens = std::bit_floor(point.tokens);
      return std::tuple(odds_.Worth(KindOf(point), phase) * tokens, is_young,
                        is_young ? ~waits_[point.wait].order : waits_[point.wait].order);
    };
    std::ranges::sort(sorted, {}, rank);
    std::vector<ResumePointId> ids;
    for (const Point& point : sorted) ids.push_back(point.id);
    return ids;
  }

 private:
  struct Wait {
    uint32_t kind = 0;
    uint64_t begin = 0;
    uint64_t order = 0;
    std::optional<uint64_t> end;
    bool was_used = false;  // at the end
  };

  static uint32_t KindOf(const Point& point) {
    return 2 * static_cast<uint32_t>(point.resume_class) + (point.was_resumed ? 1 : 0);
  }
  void Begin(Point& point) {
    point.wait = waits_.size();
    waits_.push_back({.kind = KindOf(point), .begin = now_, .order = uses_, .end = std::nullopt});
  }
  void End(Point& point, bool was_used) {
    waits_[point.wait].end = now_;
    waits_[point.wait].was_used = was_used;
    point.was_resumed |= was_used;
  }
  void LearnIfDue() {
    if (uses_ - learned_at_ < std::max<size_t>(32, (points_.size() + ghosts_.size()) / 4)) return;
    learned_at_ = uses_;
    odds_ = ReuseOdds(kPriors, 2);
    for (const Wait& wait : waits_) {
      const uint32_t phase = ReuseOdds::PhaseOf(wait.end.value_or(now_) - wait.begin);
      odds_.NoteWait(wait.kind, 0, phase + 1);
      if (wait.was_used) odds_.NoteUse(wait.kind, phase);
    }
    odds_.Learn();
  }

  static constexpr std::array kPriors = {0.01, 0.02, 0.02, 0.04, 0.08, 0.16, 0.08, 0.16};
  std::vector<Point> points_;
  std::deque<Point> ghosts_;
  std::vector<Wait> waits_;
  ReuseOdds odds_{kPriors, 2};
  uint64_t now_ = 0;
  uint64_t uses_ = 0;
  uint64_t learned_at_ = 0;
  size_t most_live_ = 0;
};

TEST(ResumePoints, KeepTheOrderOfASlowTwin) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  ResumePoints points;
  Twin twin;
  for (int step = 0; step < 4000; ++step) {
    const auto resume_class = kClasses[random() % kClasses.size()];
    const size_t index = twin.count() == 0 ? 0 : random() % twin.count();
    const uint64_t what = twin.count() == 0 ? 0 : random() % 10;
    const uint64_t key = random() % 100;
    if (random() % 3 == 0) {
      points.Tick();
      twin.Tick();
    }
    if (what < 4 && twin.count() < 40 && !twin.Has(key)) {
      const auto tokens = static_cast<uint32_t>(1 + random() % 5000);
      twin.Add(key, points.Add(key, resume_class, tokens), resume_class, tokens);
    } else if (what < 6) {
      // Branches soon, others late or never: the order must come to differ from the first one.
      if (twin.count() == 0 ||
          (twin.at(index).resume_class != ResumeClass::kBranch && step % 4 > 0)) {
        continue;
      }
      points.Touch(twin.at(index).id);
      twin.Touch(index);
    } else if (what < 7 && twin.count() > 0) {
      points.Reclassify(twin.at(index).id, resume_class);
      twin.Reclassify(index, resume_class);
    } else if (what < 8 && twin.count() > 0) {
      points.Evict(twin.at(index).id);
      twin.Evict(index);
    } else if (what < 9) {
      if (!twin.Has(key)) {
        ASSERT_EQ(points.NoteMiss(key), twin.NoteMiss(key));
      }
    } else if (twin.count() > 0 && step % 3 == 0) {
      points.Remove(twin.at(index).id);
      twin.Remove(index);
    }
    ASSERT_EQ(InOrder(points), twin.Order()) << "step " << step;
    ASSERT_EQ(points.count(), twin.count());
  }
}

}  // namespace
}  // namespace weir
