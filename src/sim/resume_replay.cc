#include "sim/resume_replay.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sim/point_keeper.h"
#include "sim/seen_nodes.h"

namespace weir {
namespace {

std::unique_ptr<PointKeeper> MakeKeeper(const ResumeReplayOptions& options) {
  if (options.policy == WindowPolicy::kWeir) return MakeWeirKeeper(options.points);
  const bool is_cold = options.policy == WindowPolicy::kColdSuperseded ||
                       options.policy == WindowPolicy::kColdCheckpoints;
  return MakeListKeeper(
      {.points = options.points, .is_superseded_cold = is_cold, .are_checkpoints_cold = is_cold});
}

class ResumeReplay {
 public:
  ResumeReplay(const Trace& trace, const ResumeReplayOptions& options)
      : trace_(trace), options_(options), seen_(trace), keeper_(MakeKeeper(options)) {}

  ReplayResult Run() {
    for (const TraceRequest& request : trace_.requests) Step(request);
    return result_;
  }

 private:
  void Step(const TraceRequest& request) {
    keeper_->Begin();
    const uint32_t known = seen_.Pass(request);
    uint32_t resumed = known;
    bool is_missed = false;
    for (; resumed != 0 && !keeper_->Holds(resumed); resumed = trace_.nodes[resumed].parent) {
      if (!is_missed) is_missed = keeper_->Miss(resumed);
    }
    result_.prompt_tokens += request.token_count;
    result_.hit_tokens += trace_.TokensTo(request, trace_.nodes[resumed].depth);
    if (resumed != 0) keeper_->Resume(resumed, resumed != WholeBlocksEnd(request));
    if (HasBranches() && known != resumed) Add(request, known, ResumeClass::kBranch);
    if (HasCheckpoints()) AddCheckpoints(request, resumed);
    if (const uint32_t end = WholeBlocksEnd(request); end != 0) {
      Add(request, end, ResumeClass::kNewest);
    }
  }

  void Add(const TraceRequest& request, uint32_t node, ResumeClass resume_class) {
    keeper_->Add(node, resume_class, trace_.TokensTo(request, trace_.nodes[node].depth));
  }

  // A cut last block cannot be gone on from.
  [[nodiscard]] uint32_t WholeBlocksEnd(const TraceRequest& request) const {
    const TraceNode& last = trace_.nodes[request.last_node];
    const bool is_cut = last.depth > request.token_count / trace_.block_tokens;
    return is_cut ? last.parent : request.last_node;
  }

  // At multiples of the distance inside what was computed, in the order of positions.
  void AddCheckpoints(const TraceRequest& request, uint32_t resumed) {
    const uint32_t distance = std::max(options_.checkpoint_tokens / trace_.block_tokens, 1U);
    checkpoints_.clear();
    for (uint32_t node = request.last_node; node != resumed; node = trace_.nodes[node].parent) {
      if (trace_.nodes[node].depth % distance == 0) checkpoints_.push_back(node);
    }
    while (!checkpoints_.empty()) {
      Add(request, checkpoints_.back(), ResumeClass::kPeriodic);
      checkpoints_.pop_back();
    }
  }

  [[nodiscard]] bool HasBranches() const { return options_.policy != WindowPolicy::kTails; }
  [[nodiscard]] bool HasCheckpoints() const {
    return options_.policy == WindowPolicy::kWarmCheckpoints ||
           options_.policy == WindowPolicy::kColdCheckpoints ||
           options_.policy == WindowPolicy::kWeir;
  }

  const Trace& trace_;
  const ResumeReplayOptions& options_;
  SeenNodes seen_;
  std::unique_ptr<PointKeeper> keeper_;
  ReplayResult result_;
  std::vector<uint32_t> checkpoints_;
};

// Each request wants one place: the deepest that is known. A place can be kept from any request
// that computes it or resumes there; those wanted soonest are.
class BeladyReplay {
 public:
  BeladyReplay(const Trace& trace, uint32_t points)
      : trace_(trace),
        points_(points),
        seen_(trace),
        is_held_(trace.nodes.size()),
        wants_(trace.nodes.size()) {
    SeenNodes seen(trace);
    for (uint32_t r = 0; r < trace.requests.size(); ++r) {
      if (const uint32_t node = seen.Pass(trace.requests[r]); node != 0) wants_[node].push_back(r);
    }
    for (std::vector<uint32_t>& wants : wants_) std::reverse(wants.begin(), wants.end());
  }

  ReplayResult Run() {
    for (const TraceRequest& request : trace_.requests) Step(request);
    return result_;
  }

 private:
  void Step(const TraceRequest& request) {
    const uint32_t known = seen_.Pass(request);
    uint32_t resumed = known;
    while (resumed != 0 && !is_held_[resumed]) resumed = trace_.nodes[resumed].parent;
    result_.prompt_tokens += request.token_count;
    result_.hit_tokens += trace_.TokensTo(request, trace_.nodes[resumed].depth);
    if (known != 0) {
      if (is_held_[known]) held_.erase({wants_[known].back(), known});
      is_held_[known] = false;
      wants_[known].pop_back();
    }
    uint32_t node = request.last_node;
    for (; node != resumed; node = trace_.nodes[node].parent) Keep(node);
    Keep(resumed);
  }

  void Keep(uint32_t node) {
    if (is_held_[node] || wants_[node].empty()) return;
    is_held_[node] = true;
    held_.emplace(wants_[node].back(), node);
    if (held_.size() <= points_) return;
    const auto latest = std::prev(held_.end());
    is_held_[latest->second] = false;
    held_.erase(latest);
  }

  const Trace& trace_;
  uint32_t points_;
  SeenNodes seen_;
  std::vector<bool> is_held_;
  std::vector<std::vector<uint32_t>> wants_;      // of each node: requests, soonest last
  std::set<std::pair<uint32_t, uint32_t>> held_;  // next request that wants it, node
  ReplayResult result_;
};

}  // namespace

std::string_view NameOf(WindowPolicy policy) {
  switch (policy) {
    case WindowPolicy::kTails:
      return "A tails";
    case WindowPolicy::kBranches:
      return "B + branches";
    case WindowPolicy::kColdSuperseded:
      return "C = B, superseded cold";
    case WindowPolicy::kWarmCheckpoints:
      return "D = B + checkpoints";
    case WindowPolicy::kColdCheckpoints:
      return "E = C + cold checkpoints";
    case WindowPolicy::kWeir:
      return "Weir";
    case WindowPolicy::kBelady:
      return "Belady";
  }
  return "";
}

ReplayResult ReplayIdeal(const Trace& trace) {
  ReplayResult result;
  SeenNodes seen(trace);
  for (const TraceRequest& request : trace.requests) {
    result.prompt_tokens += request.token_count;
    result.hit_tokens += trace.TokensTo(request, trace.nodes[seen.Pass(request)].depth);
  }
  return result;
}

ReplayResult ReplayResumePoints(const Trace& trace, const ResumeReplayOptions& options) {
  WEIR_CHECK(options.points > 0);
  if (options.policy == WindowPolicy::kBelady) return BeladyReplay(trace, options.points).Run();
  return ResumeReplay(trace, options).Run();
}

}  // namespace weir
