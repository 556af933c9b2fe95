// Which retained window leaves first: the order of resume points, and nothing else.
//
// A point is kept for the tokens that resuming there saves, times the rate at which such points are
// resumed: same class, resumed before or not, unused for as long. No order of classes is built in:
// how soon and how often each class comes back is counted as it happens (ReuseOdds), on points that
// were evicted too, which are remembered for a while as ghosts. So periodic and superseded points
// go first where nobody comes back to them, and stay where somebody does; a conversation that just
// paused may go before one whose user is about to answer. Until something is counted, the newest
// points and branches count as the likeliest to be used, and within a class the order is that of
// last use.
//
// Pure bookkeeping: knows neither tiles nor tokens, so the replay of traces (src/sim) drives it
// too. Deterministic. Ownership: plain values. Threads: one caller. O(1) on average, but for
// Coldest, which looks at the two ends of each list of like points (8 kinds by 32 costs), and
// NextColdest, which also walks over the points that go before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/ids.h"

namespace weir {

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

  // A new moment: time goes by in requests, because all uses of one come together.
  void Tick();

  // `key` names the place (the hash of all tokens up to there), also after the point was evicted.
  // `tokens`: what resuming here saves, about.
  ResumePointId Add(uint64_t key, ResumeClass resume_class, uint32_t tokens = 1);
  void Reclassify(ResumePointId id, ResumeClass resume_class);
  // A request resumed here.
  void Touch(ResumePointId id);
  void Remove(ResumePointId id);  // another takes its place; no ghost
  // A request would have resumed at `key`, but no point was there. The class of the ghost that was;
  // without one the next place above may be the one that was missed.
  std::optional<ResumeClass> NoteMiss(uint64_t key);

  // The point whose loss costs least, by the order above; none (0) if there is none. NextColdest:
  // the one after it, for a caller that must skip points in use.
  [[nodiscard]] ResumePointId Coldest() const;
  [[nodiscard]] ResumePointId NextColdest(ResumePointId id) const;
  // What keeping it is worth, and what it would be for a new point: tokens a request.
  [[nodiscard]] double WorthOf(ResumePointId id) const;
  [[nodiscard]] double WorthOfNew(ResumeClass resume_class, uint32_t tokens) const;
  // Removes the point and remembers its key.
  void Evict(ResumePointId id);

  [[nodiscard]] ResumeClass ClassOf(ResumePointId id) const;
  [[nodiscard]] uint32_t count() const;
  [[nodiscard]] uint32_t count(ResumeClass resume_class) const;
  [[nodiscard]] uint32_t ghost_count() const;  // at most kFewGhosts + 2 * the most points ever

  static constexpr uint32_t kFewGhosts = 4096;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
