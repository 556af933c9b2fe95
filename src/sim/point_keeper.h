// Which of too many resume points stay: the policies that a replay compares.
//
// A place is a node of the trace's tree. Ownership: plain values. Threads: one caller.
#pragma once

#include <cstdint>
#include <memory>

#include "prefix/resume_points.h"

namespace weir {

// Decides which of too many points go.
class PointKeeper {
 public:
  virtual ~PointKeeper() = default;
  virtual void Begin() {}  // a request
  [[nodiscard]] virtual bool Holds(uint32_t node) const = 0;
  // A request resumed at `node`, which holds a point, and goes on from there unless it ends there.
  virtual void Resume(uint32_t node, bool goes_on) = 0;
  // It would have resumed at `node`; false: nothing is known of that place.
  virtual bool Miss(uint32_t node) = 0;
  // `tokens`: from the start to there.
  virtual void Add(uint32_t node, ResumeClass resume_class, uint32_t tokens) = 0;
};

struct ListKeeperOptions {
  uint32_t points = 16;  // > 0
  bool is_superseded_cold = false;
  bool are_checkpoints_cold = false;
};
// One order of use; some classes may fall to, or enter at, its cold end.
std::unique_ptr<PointKeeper> MakeListKeeper(const ListKeeperOptions& options);

// The order that the server uses (ResumePoints).
std::unique_ptr<PointKeeper> MakeWeirKeeper(uint32_t points);

}  // namespace weir
