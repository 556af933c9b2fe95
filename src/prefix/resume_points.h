// Which retained window leaves first: the order of resume points, and nothing else.
//
// A resume point stands for the window (or owed) tiles that decoding from one position needs. With
// little memory, superseded and periodic points must go before the newest point of an idle
// conversation; with much, the plain order of use is as good: what was evicted too early is
// remembered for a while (ghosts) and moves the balance between the two.
//
// Pure bookkeeping: knows neither tiles nor tokens, so the simulator of bench/hit_rate drives it
// too. Ownership: plain values. Threads: one caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/ids.h"

namespace weir {

// From the first to leave to the last; see DESIGN of docs/prefix_reuse.md.
enum class ResumeClass : uint8_t {
  kPeriodic,    // checkpoints and message starts inside a prompt
  kSuperseded,  // a conversation went on from here
  kBranch,      // two prompts parted here
  kNewest,      // the newest point of a conversation
};
inline constexpr size_t kResumeClassCount = 4;

using ResumePointId = Id<struct ResumePointTag>;  // 0: none

class ResumePoints {
 public:
  ResumePoints();
  ~ResumePoints();
  ResumePoints(ResumePoints&&) noexcept;
  ResumePoints& operator=(ResumePoints&&) noexcept;

  // `key` names the place (the node's chain hash and the position in it), also after the point was
  // evicted.
  ResumePointId Add(uint64_t key, ResumeClass resume_class);
  void Reclassify(ResumePointId id, ResumeClass resume_class);
  // A request resumed here.
  void Touch(ResumePointId id);
  void Remove(ResumePointId id);  // its tiles went for another reason; no ghost
  // A request would have resumed at `key`, but no point was there: the ghost, if one is left, tells
  // which order was wrong.
  void NoteMiss(uint64_t key);

  // The point whose loss costs least, by the order above; none (0) if there is none. Next(id): the
  // one after it, for a caller that must skip points in use.
  [[nodiscard]] ResumePointId Coldest() const;
  [[nodiscard]] ResumePointId NextColdest(ResumePointId id) const;
  // Removes the point and remembers its key.
  void Evict(ResumePointId id);

  [[nodiscard]] ResumeClass ClassOf(ResumePointId id) const;
  [[nodiscard]] uint32_t count() const;
  [[nodiscard]] uint32_t count(ResumeClass resume_class) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
