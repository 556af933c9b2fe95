#include "obs/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace weir {

struct MetricRegistry::State {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
};

void Counter::Add(double amount) { counter_->Increment(amount); }
void Counter::RaiseTo(double total) {
  if (total > value()) Add(total - value());
}
double Counter::value() const { return counter_->Value(); }
void Gauge::Set(double value) { gauge_->Set(value); }
void Histogram::Observe(double value) { histogram_->Observe(value); }
void Histogram::RaiseTo(const std::vector<uint64_t>& counts, double sum) {
  raised_counts_.resize(counts.size(), 0);
  std::vector<double> increments;
  for (size_t i = 0; i < counts.size(); ++i) {
    increments.push_back(static_cast<double>(counts[i] - raised_counts_[i]));
  }
  histogram_->ObserveMultiple(increments, sum - raised_sum_);
  raised_counts_ = counts;
  raised_sum_ = sum;
}

MetricRegistry::MetricRegistry() : state_(std::make_unique<State>()) {}
MetricRegistry::~MetricRegistry() = default;

Counter MetricRegistry::AddCounter(const MetricName& name, const MetricLabels& labels) {
  auto& family =
      prometheus::BuildCounter().Name(name.name).Help(name.help).Register(state_->registry);
  return Counter(family.Add(labels));
}

Gauge MetricRegistry::AddGauge(const MetricName& name, const MetricLabels& labels) {
  auto& family =
      prometheus::BuildGauge().Name(name.name).Help(name.help).Register(state_->registry);
  return Gauge(family.Add(labels));
}

Histogram MetricRegistry::AddHistogram(const MetricName& name, const std::vector<double>& bounds) {
  auto& family =
      prometheus::BuildHistogram().Name(name.name).Help(name.help).Register(state_->registry);
  return Histogram(family.Add(prometheus::Labels{}, bounds));
}

std::string MetricRegistry::Text() const {
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace weir
