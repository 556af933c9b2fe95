#include "sim/point_keeper.h"

#include <algorithm>
#include <list>
#include <unordered_map>

#include "base/check.h"

namespace weir {
namespace {

class ListKeeper : public PointKeeper {
 public:
  explicit ListKeeper(const ListKeeperOptions& options) : options_(options) {}

  [[nodiscard]] bool Holds(uint32_t node) const override { return at_.contains(node); }
  void Resume(uint32_t node, bool goes_on) override {
    const auto point = at_.at(node);
    const bool falls =
        options_.is_superseded_cold && goes_on && point->resume_class == ResumeClass::kNewest;
    if (falls) point->resume_class = ResumeClass::kSuperseded;
    order_.splice(falls ? order_.begin() : order_.end(), order_, point);
  }
  bool Miss(uint32_t /*node*/) override { return true; }
  void Add(uint32_t node, ResumeClass resume_class, uint32_t /*tokens*/) override {
    const bool is_cold = options_.are_checkpoints_cold && resume_class == ResumeClass::kPeriodic;
    if (const auto found = at_.find(node); found != at_.end()) {
      if (is_cold) return;
      // A place where prompts parted stays one.
      ResumeClass& had = found->second->resume_class;
      if (had != ResumeClass::kBranch) had = std::max(had, resume_class);
      order_.splice(order_.end(), order_, found->second);
      return;
    }
    if (order_.size() >= options_.points) {
      if (is_cold) return;
      at_.erase(order_.front().node);
      order_.pop_front();
    }
    at_[node] = order_.insert(is_cold ? order_.begin() : order_.end(), {node, resume_class});
  }

 private:
  struct Point {
    uint32_t node;
    ResumeClass resume_class;
  };
  ListKeeperOptions options_;
  std::list<Point> order_;  // coldest first
  std::unordered_map<uint32_t, std::list<Point>::iterator> at_;
};

// The order that the server uses.
class WeirKeeper : public PointKeeper {
 public:
  explicit WeirKeeper(uint32_t points) : most_(points) {}

  void Begin() override { points_.Tick(); }
  [[nodiscard]] bool Holds(uint32_t node) const override { return at_.contains(node); }
  void Resume(uint32_t node, bool goes_on) override {
    const ResumePointId id = at_.at(node);
    points_.Touch(id);
    if (goes_on && points_.ClassOf(id) == ResumeClass::kNewest) {
      points_.Reclassify(id, ResumeClass::kSuperseded);
    }
  }
  bool Miss(uint32_t node) override { return points_.NoteMiss(node).has_value(); }
  void Add(uint32_t node, ResumeClass resume_class, uint32_t tokens) override {
    if (const auto found = at_.find(node); found != at_.end()) {
      if (resume_class > points_.ClassOf(found->second)) {
        points_.Reclassify(found->second, resume_class);
      }
      return;
    }
    const ResumePointId id = points_.Add(node, resume_class, tokens);
    at_[node] = id;
    node_of_[id.value()] = node;
    if (points_.count() <= most_) return;
    const ResumePointId coldest = points_.Coldest();
    at_.erase(node_of_.at(coldest.value()));
    points_.Evict(coldest);
  }

 private:
  uint32_t most_;
  ResumePoints points_;
  std::unordered_map<uint32_t, ResumePointId> at_;
  std::unordered_map<uint32_t, uint32_t> node_of_;
};

}  // namespace

std::unique_ptr<PointKeeper> MakeListKeeper(const ListKeeperOptions& options) {
  WEIR_CHECK(options.points > 0);
  return std::make_unique<ListKeeper>(options);
}

std::unique_ptr<PointKeeper> MakeWeirKeeper(uint32_t points) {
  WEIR_CHECK(points > 0);
  return std::make_unique<WeirKeeper>(points);
}

}  // namespace weir
