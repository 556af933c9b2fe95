// Counters, gauges and histograms in the Prometheus text format, through prometheus-cpp.
//
// Names are weir_<noun>_<unit>; all series are made at the start, so their number never grows with
// traffic, users or paths.
//
// Ownership: whoever creates the registry owns all that it hands out (references stay valid as long
// as it lives). Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace weir {

using MetricLabels = std::map<std::string, std::string>;

struct MetricName {
  std::string name;
  std::string help;  // one sentence, unit included
};

class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  void Add(double amount = 1);  // amount >= 0
  void RaiseTo(double total);   // of what is counted elsewhere; no effect if less
  [[nodiscard]] double value() const;

 private:
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void Set(double value);

 private:
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  void Observe(double value);
  // Of what is counted elsewhere: how many by bucket, one more than there are bounds, and their
  // sum. Requires that no number has fallen since the last call.
  void RaiseTo(const std::vector<uint64_t>& counts, double sum);

 private:
  prometheus::Histogram* histogram_;
  std::vector<uint64_t> raised_counts_;
  double raised_sum_ = 0;
};

class MetricRegistry {
 public:
  MetricRegistry();
  ~MetricRegistry();

  // A second call with the same name (and help) adds a series with other labels.
  Counter AddCounter(const MetricName& name, const MetricLabels& labels = {});
  Gauge AddGauge(const MetricName& name, const MetricLabels& labels = {});
  // `bounds`: upper bounds of the buckets, rising; +Inf is added.
  Histogram AddHistogram(const MetricName& name, const std::vector<double>& bounds);

  // All series in text format 0.0.4.
  [[nodiscard]] std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir
