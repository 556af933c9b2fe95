#include "model/feed_forward.h"

#include <algorithm>
#include <array>

#include "model/rows.h"
#include "simd/vector_ops.h"

namespace weir {

FeedForward::FeedForward(const ModelConfig& config, ThreadPool& pool)
    : config_(config), pool_(pool) {}

void FeedForward::Run(const LayerConfig& layer, const LayerWeights& weights, Activations& x,
                      float* out) {
  if (layer.has_experts) {
    RunExperts(weights, x, out);
  } else {
    RunGated(weights.dense, x, out);
  }
}

void FeedForward::RunGated(const GatedWeights& weights, Activations& x, float* out) {
  const uint32_t rows = x.rows();
  const uint32_t inner = weights.gate.rows();
  gate_.EnsureCount(size_t{rows} * inner);
  up_.EnsureCount(size_t{rows} * inner);
  MatMul(std::array{MatMulOutput{&weights.gate, gate_.data(), inner},
                    MatMulOutput{&weights.up, up_.data(), inner}},
         x, pool_);
  const auto activate = config_.activation == Activation::kSilu ? SiluMul : GeluTanhMul;
  inner_.SetFilled(gate_.data(), rows, inner, CodesFor(weights.down), pool_, [&](uint32_t row) {
    const auto gate = RowOf(gate_.data(), row, inner);
    activate(gate, RowOf(up_.data(), row, inner), gate);
  });
  MatMul(weights.down, inner_, out, config_.hidden, pool_);
}

void FeedForward::Route(const LayerWeights& weights, Activations& x) {
  const ExpertSpec& spec = *config_.experts;
  const uint32_t rows = x.rows();
  router_logits_.EnsureCount(size_t{rows} * spec.count);
  choices_.EnsureCount(size_t{rows} * spec.used);
  MatMul(weights.router, x, router_logits_.data(), spec.count, pool_);
  ForRows(pool_, rows, [&](uint32_t row) {
    ChooseExperts(spec, RowOf(router_logits_.data(), row, spec.count), weights.router_bias,
                  {choices_.data() + size_t{row} * spec.used, spec.used});
  });
}

void FeedForward::RunExperts(const LayerWeights& weights, Activations& x, float* out) {
  const uint32_t rows = x.rows();
  const uint32_t used = config_.experts->used;
  const uint32_t hidden = config_.hidden;
  Route(weights, x);
  products_.EnsureCount(size_t{rows} * used * hidden);
  gathered_.EnsureCount(size_t{rows} * hidden);
  for (uint32_t expert = 0; expert < weights.experts.size(); ++expert) {
    places_.clear();
    for (uint32_t place = 0; place < rows * used; ++place) {
      if (choices_[place].expert == expert) places_.push_back(place);
    }
    if (!places_.empty()) RunExpert(weights.experts[expert], x.values());
  }
  ForRows(pool_, rows, [&](uint32_t row) {
    const auto sum = RowOf(out, row, hidden);
    std::fill(sum.begin(), sum.end(), 0.0F);
    for (uint32_t place = row * used; place < (row + 1) * used; ++place) {
      AddScaled(RowOf(products_.data(), place, hidden), choices_[place].weight, sum);
    }
  });
}

void FeedForward::RunExpert(const GatedWeights& weights, const float* x) {
  const uint32_t used = config_.experts->used;
  const uint32_t hidden = config_.hidden;
  const auto count = static_cast<uint32_t>(places_.size());
  ForRows(pool_, count, [&](uint32_t i) {
    const auto from = RowOf(x, places_[i] / used, hidden);
    std::copy(from.begin(), from.end(), RowOf(gathered_.data(), i, hidden).begin());
  });
  expert_input_.Set(gathered_.data(), count, hidden);
  RunGated(weights, expert_input_, gathered_.data());
  ForRows(pool_, count, [&](uint32_t i) {
    const auto from = RowOf(gathered_.data(), i, hidden);
    std::copy(from.begin(), from.end(), RowOf(products_.data(), places_[i], hidden).begin());
  });
}

}  // namespace weir
