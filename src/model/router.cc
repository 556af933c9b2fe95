#include "model/router.h"

#include <algorithm>
#include <limits>

#include "simd/math.h"
#include "simd/vector_ops.h"

namespace weir {
namespace {

void Gate(RouterGate gate, std::span<float> logits) {
  if (gate == RouterGate::kSigmoid) {
    for (float& x : logits) x = Sigmoid(x);
    return;
  }
  const float sum = ExpAndSum(*std::max_element(logits.begin(), logits.end()), logits);
  for (float& x : logits) x /= sum;
}

}  // namespace

void ChooseExperts(const ExpertSpec& spec, std::span<float> logits, std::span<const float> bias,
                   std::span<ExpertChoice> choices) {
  Gate(spec.gate, logits);
  const auto rank = [&](uint32_t e) { return bias.empty() ? logits[e] : logits[e] + bias[e]; };
  // Insertion into the few best so far: `>` keeps the earlier of equals.
  uint32_t found = 0;
  for (uint32_t expert = 0; expert < logits.size(); ++expert) {
    uint32_t place = found;
    while (place > 0 && rank(expert) > rank(choices[place - 1].expert)) --place;
    if (place == choices.size()) continue;
    found = std::min(found + 1, static_cast<uint32_t>(choices.size()));
    std::copy_backward(choices.begin() + place, choices.begin() + found - 1,
                       choices.begin() + found);
    choices[place] = {expert, logits[expert]};
  }
  float sum = 1e-20F;
  for (const ExpertChoice& choice : choices) sum += choice.weight;
  for (ExpertChoice& choice : choices) {
    if (spec.normalize_weights) choice.weight /= sum;
    choice.weight *= spec.weight_scale;
  }
}

}  // namespace weir
