// How soon things are wanted again, learned from those that went by, and what it is worth to keep
// one that has waited for some time already.
//
// Things are of a few kinds; a thing's age is the time since its last use, in doublings: phase 0 is
// age 0, phase p ages [2^(p-1), 2^p). For each kind and phase the owner reports how many things
// came to it unused and how many of them were used in it, kept or not, which gives the chance h(p)
// of use in a phase and so (Kaplan and Meier) the chance S of waiting longer. The worth of going on
// to keep a thing of phase p is the best rate of uses that this can bring,
//     max over q >= p of  P(used in p..q) / E(time it is kept in p..q),
// the index of Gittins for a wait that can be given up at any time.
//
// Kinds come in families. Of a kind of which little was seen, the family's odds are believed: so
// what is learned of one kind holds for its like until these turn out different.
//
// Pure arithmetic. Ownership: plain values. Threads: one caller.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

class ReuseOdds {
 public:
  static constexpr uint32_t kPhaseCount = 40;
  [[nodiscard]] static uint32_t PhaseOf(uint64_t age) {
    return std::min(static_cast<uint32_t>(std::bit_width(age)), kPhaseCount - 1);
  }

  // One kind for each prior, the chance of use in any one phase; each `family_size` in a row are a
  // family. The prior is believed as much as what is seen of kPriorCount things of the family, and
  // the family as much as what is seen of so many of the kind.
  explicit ReuseOdds(std::span<const double> priors, uint32_t family_size = 1);

  // `count` things of `kind` came to the phases [begin, end) unused.
  void NoteWait(uint32_t kind, uint32_t begin, uint32_t end, double count = 1);
  // They were used in it, of those that came to it.
  void NoteUse(uint32_t kind, uint32_t phase, double count = 1);
  // Lets Worth() know what was noted, and forgets what is long past.
  void Learn();

  // Uses a time unit. As a function of the phase it only rises up to PeakOf(kind) and then only
  // falls: of two that wait, neither goes before both an older and a younger one.
  [[nodiscard]] double Worth(uint32_t kind, uint32_t phase) const {
    return kinds_[kind].worth[phase];
  }
  [[nodiscard]] uint32_t PeakOf(uint32_t kind) const { return kinds_[kind].peak; }

 private:
  static constexpr double kPriorCount = 8;
  static constexpr double kMostRemembered = 16384;  // things of a kind; then counts are halved
  struct Kind {
    double prior = 0;
    std::array<double, kPhaseCount> came{};
    std::array<double, kPhaseCount> used{};
    std::array<double, kPhaseCount> worth{};
    uint32_t peak = 0;
  };
  // Of use in each phase, by what was seen of `kinds` and by what else is believed of it.
  using Chances = std::array<double, kPhaseCount>;
  static Chances Estimate(std::span<const Kind> kinds, const Chances& prior);
  static void Solve(Kind& kind, const Chances& chance);
  void SolveAll();

  std::vector<Kind> kinds_;
  uint32_t family_size_;
};

}  // namespace weir
