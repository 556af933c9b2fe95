#include "prefix/resume_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

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

TEST(ResumePoints, LeaveClassByClassAndWithinAClassOldestUseFirst) {
  ResumePoints points;
  const ResumePointId newest = points.Add(1, ResumeClass::kNewest);
  const ResumePointId old_periodic = points.Add(2, ResumeClass::kPeriodic);
  const ResumePointId superseded = points.Add(3, ResumeClass::kSuperseded);
  const ResumePointId periodic = points.Add(4, ResumeClass::kPeriodic);
  EXPECT_EQ(InOrder(points), (std::vector{old_periodic, periodic, superseded, newest}));
  points.Touch(old_periodic);
  EXPECT_EQ(InOrder(points), (std::vector{periodic, old_periodic, superseded, newest}));
}

TEST(ResumePoints, ASupersededPointGoesBeforeOlderNewestOnes) {
  ResumePoints points;
  const ResumePointId idle = points.Add(1, ResumeClass::kNewest);
  const ResumePointId continued = points.Add(2, ResumeClass::kNewest);
  points.Touch(continued);
  points.Reclassify(continued, ResumeClass::kSuperseded);
  EXPECT_EQ(points.Coldest(), continued);
  EXPECT_EQ(points.NextColdest(continued), idle);
  EXPECT_EQ(points.count(ResumeClass::kSuperseded), 1U);
  points.Evict(continued);
  EXPECT_EQ(InOrder(points), std::vector{idle});
}

// Every point in one table, sorted anew for each question.
class Twin {
 public:
  struct Point {
    ResumePointId id;
    ResumeClass resume_class;
    uint64_t used_at;
  };

  void Add(ResumePointId id, ResumeClass resume_class) {
    points_.push_back({id, resume_class, ++now_});
  }
  void Use(size_t index) { points_[index].used_at = ++now_; }
  void Reclassify(size_t index, ResumeClass resume_class) {
    if (points_[index].resume_class == resume_class) return;
    points_[index].resume_class = resume_class;
    Use(index);
  }
  void Remove(size_t index) { points_.erase(points_.begin() + static_cast<ptrdiff_t>(index)); }
  [[nodiscard]] const Point& at(size_t index) const { return points_[index]; }
  [[nodiscard]] size_t count() const { return points_.size(); }

  [[nodiscard]] std::vector<ResumePointId> Order() const {
    std::vector<Point> sorted = points_;
    std::sort(sorted.begin(), sorted.end(), [](const Point& a, const Point& b) {
      const auto rank = [](const Point& point) {
        const bool by_class = point.resume_class < ResumeClass::kBranch;
        return std::tuple(by_class ? static_cast<int>(point.resume_class) : 2, point.used_at);
      };
      return rank(a) < rank(b);
    });
    std::vector<ResumePointId> ids;
    for (const Point& point : sorted) ids.push_back(point.id);
    return ids;
  }

 private:
  std::vector<Point> points_;
  uint64_t now_ = 0;
};

TEST(ResumePoints, KeepTheOrderOfASlowTwin) {
  WEIR_TRACE_SEED();
  std::mt19937_64 random(test::Seed());
  ResumePoints points;
  Twin twin;
  for (int step = 0; step < 5000; ++step) {
    const auto resume_class = kClasses[random() % kClasses.size()];
    const size_t index = twin.count() == 0 ? 0 : random() % twin.count();
    const uint64_t what = twin.count() == 0 ? 0 : random() % 8;
    if (what < 3 && twin.count() < 40) {
      twin.Add(points.Add(random(), resume_class), resume_class);
    } else if (what < 5) {
      points.Touch(twin.at(index).id);
      twin.Use(index);
    } else if (what < 6) {
      points.Reclassify(twin.at(index).id, resume_class);
      twin.Reclassify(index, resume_class);
    } else if (what < 7) {
      points.Evict(twin.at(index).id);
      twin.Remove(index);
    } else {
      points.Remove(twin.at(index).id);
      twin.Remove(index);
    }
    ASSERT_EQ(InOrder(points), twin.Order()) << "step " << step;
    ASSERT_EQ(points.count(), twin.count());
  }
}

}  // namespace
}  // namespace weir
