// How long steps take, learnt from those that were run: so that a step can be given as many prefill
// tokens as end in time. Results never depend on it, only chunk lengths do.
//
//   seconds = decode(rows) + sum over prefill tokens of (flat + slope * depth)
//
// where depth is the token's position: attention reads all that is before it. Both are fitted by
// least squares over recent steps, in which older ones fade.
//
// Ownership: plain values. Threads: the engine thread.
#pragma once

#include <cstdint>

namespace weir {

// Consecutive prompt tokens of one sequence in a step.
struct PrefillRun {
  uint32_t first_position = 0;
  uint32_t tokens = 0;
  [[nodiscard]] double depth() const { return first_position + 0.5 * tokens; }
};

class StepPace {
 public:
  // What a step with these took. `prefill` is the sum of its runs, `token_depth` the mean depth of
  // their tokens.
  void Record(uint32_t decode_rows, uint32_t prefill_tokens, double token_depth, double seconds);

  // False until prefill was seen: then nothing can be said, the model may be a large one.
  [[nodiscard]] bool is_known() const { return weight_ > 0; }
  [[nodiscard]] double PrefillSeconds(const PrefillRun& run) const;
  // How many tokens from `first_position` on take `seconds`.
  [[nodiscard]] double TokensIn(double seconds, uint32_t first_position) const;

 private:
  void RecordPrefill(double tokens, double depth, double cost);
  void Fit();

  double decode_seconds_ = 0;  // of a step without prefill; 0: not seen
  // Faded sums over steps of weight w (tokens), depth d and cost y (seconds a token).
  double weight_ = 0, depth_ = 0, depth_squared_ = 0, cost_ = 0, depth_cost_ = 0;
  double flat_ = 0, slope_ = 0;
};

}  // namespace weir
