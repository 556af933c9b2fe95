#include "obs/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

TEST(MetricRegistry, WritesEachFamilyOnceWithHelpAndType) {
  MetricRegistry registry;
  const MetricName name{"weir_requests_total", "Requests by outcome."};
  Counter stop = registry.AddCounter(name, {{"outcome", "stop"}});
  Counter length = registry.AddCounter(name, {{"outcome", "length"}});
  stop.Add(3);
  length.Add();
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# HELP weir_requests_total Requests by outcome.\n"
                              "# TYPE weir_requests_total counter\n"));
  EXPECT_THAT(text, HasSubstr("weir_requests_total{outcome=\"stop\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("weir_requests_total{outcome=\"length\"} 1\n"));
  EXPECT_EQ(text.find("# TYPE"), text.rfind("# TYPE"));
}

TEST(MetricRegistry, HistogramBucketsAreCumulative) {
  MetricRegistry registry;
  Histogram seconds = registry.AddHistogram({"weir_wait_seconds", "Waiting."}, {0.1, 1});
  seconds.Observe(0.05);
  seconds.Observe(0.5);
  seconds.Observe(7);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_wait_seconds_count 3\n"));
  EXPECT_THAT(text, HasSubstr("weir_wait_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("weir_wait_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_wait_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(MetricRegistry, AHistogramTakesUpWhatIsCountedElsewhere) {
  MetricRegistry registry;
  Histogram seconds = registry.AddHistogram({"weir_step_seconds", "Steps."}, {0.1, 1});
  seconds.RaiseTo({2, 1, 0}, 0.7);
  seconds.RaiseTo({2, 3, 1}, 4.5);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("weir_step_seconds_count 6\n"));
  EXPECT_THAT(text, HasSubstr("weir_step_seconds_sum 4.5\n"));
  EXPECT_THAT(text, HasSubstr("weir_step_seconds_bucket{le=\"0.1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("weir_step_seconds_bucket{le=\"1\"} 5\n"));
}

}  // namespace
}  // namespace weir
