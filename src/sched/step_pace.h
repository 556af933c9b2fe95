// How long steps take, learnt from those that were run: so that a step can be given as many prefill
// tokens as end in time. Results never depend on it, only chunk lengths do.
//
//   seconds = decode(rows) + sum over prefill tokens of prefill(depth)
//
// where depth is the token's position: attention reads all that is before it. decode(0) is what
// reading the weights costs any step: it belongs to no token, or short chunks would seem dear and
// become shorter still. Both are straight lines, fitted by least squares over recent steps, in
// which older ones fade.
//
// Ownership: plain values. Threads: the engine thread.
#pragma once

#include <cstdint>

namespace weir {

// y = flat + slope * x, neither below 0.
class FadingLine {
 public:
  void Add(double weight, double x, double y);
  [[nodiscard]] bool is_known() const { return weight_ > 0; }
  [[nodiscard]] double At(double x) const { return flat_ + slope_ * x; }
  [[nodiscard]] double slope() const { return slope_; }

 private:
  // Faded sums of w, w x, w x^2, w y, w x y.
  double weight_ = 0, x_ = 0, xx_ = 0, y_ = 0, xy_ = 0;
  double flat_ = 0, slope_ = 0;
};

// Consecutive prompt tokens of one sequence in a step.
struct PrefillRun {
  uint32_t first_position = 0;
  uint32_t tokens = 0;
  [[nodiscard]] double depth() const { return first_position + 0.5 * tokens; }
};

class StepPace {
 public:
  // What a step took that had so many decode rows and prefill tokens, `depth` the mean of theirs.
  void Record(uint32_t decode_rows, uint32_t prefill_tokens, double depth, double seconds);

  // False until prefill was seen: then nothing can be said, the model may be a large one.
  [[nodiscard]] bool is_known() const { return token_seconds_.is_known(); }
  [[nodiscard]] double PrefillSeconds(const PrefillRun& run) const;
  // How many tokens from `first_position` on take `seconds`.
  [[nodiscard]] double TokensIn(double seconds, uint32_t first_position) const;

 private:
  FadingLine decode_seconds_;  // of a step without prefill, by rows
  FadingLine token_seconds_;   // of a prefill token, by depth
};

}  // namespace weir
