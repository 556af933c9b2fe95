// Which experts a row goes to, and with which weights.
//
//   score = gate(logits)                         softmax over all experts, or sigmoid of each
//   chosen: the `used` largest of score + bias   best first; the smaller index among equals
//   weight = score (without bias), over their sum + 1e-20 if normalised, times the spec's scale
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>

#include "model/config.h"

namespace weir {

struct ExpertChoice {
  uint32_t expert = 0;
  float weight = 0;
};

// logits [spec.count]: overwritten with the scores. bias: [spec.count] or empty.
// choices [spec.used]: best first.
void ChooseExperts(const ExpertSpec& spec, std::span<float> logits, std::span<const float> bias,
                   std::span<ExpertChoice> choices);

}  // namespace weir
