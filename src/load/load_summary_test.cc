#include "load/load_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "load/load_report.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Percentiles, AreByNearestRank) {
  const Percentiles ten = PercentilesOf({10, 1, 9, 2, 8, 3, 7, 4, 6, 5});
  EXPECT_EQ(ten.count, 10U);
  EXPECT_EQ(ten.mean, 5.5);
  EXPECT_EQ(ten.p50, 5);
  EXPECT_EQ(ten.p90, 9);
  EXPECT_EQ(ten.p99, 10);
  EXPECT_EQ(ten.max, 10);
  // The example of Wikipedia's "Percentile", nearest rank: P50 of 15 20 35 40 50 is 35.
  EXPECT_EQ(PercentilesOf({15, 20, 35, 40, 50}).p50, 35);
  std::vector<double> many;
  for (int i = 1; i <= 200; ++i) many.push_back(i);
  EXPECT_EQ(PercentilesOf(many).p99, 198);
  EXPECT_EQ(PercentilesOf({7}).p50, 7);
  EXPECT_EQ(PercentilesOf({7}).p99, 7);
  EXPECT_EQ(PercentilesOf({}).count, 0U);
  EXPECT_EQ(PercentilesOf({}).max, 0);
}

std::vector<RequestRecord> Records() {
  return {{.class_index = 0,
           .text_at_s = {0.1, 0.3, 0.35},
           .total_s = 0.4,
           .prompt_tokens = 10,
           .cached_tokens = 4,
           .answer_tokens = 3,
           .status = 200},
          {.class_index = 2,
           .at_s = 1,
           .text_at_s = {2.0, 2.5},
           .total_s = 3,
           .prompt_tokens = 100,
           .answer_tokens = 2,
           .status = 200},
          {.class_index = 0,
           .text_at_s = {9},
           .total_s = 9,
           .answer_tokens = 1,
           .status = 503,
           .error = "HTTP 503",
           .message = "queue full"}};
}

const std::vector<std::string> kClasses = {"short", "none", "long"};

TEST(LoadSummary, CountsByClassAndTogether) {
  const LoadSummary summary = Summarize(Records(), kClasses, 2);
  ASSERT_EQ(summary.classes.size(), 2U);  // "none" had no request
  const ClassSummary& few = summary.classes[0];
  EXPECT_EQ(few.name, "short");
  EXPECT_EQ(few.requests, 2U);
  EXPECT_EQ(few.failed, 1U);
  EXPECT_EQ(few.first_text_s.count, 1U);
  EXPECT_DOUBLE_EQ(few.first_text_s.max, 0.1);
  EXPECT_EQ(few.gap_s.count, 2U);
  EXPECT_DOUBLE_EQ(few.gap_s.max, 0.3 - 0.1);
  EXPECT_EQ(few.total_s.max, 0.4);
  EXPECT_EQ(summary.classes[1].name, "long");
  EXPECT_EQ(summary.total.requests, 3U);
  EXPECT_EQ(summary.total.prompt_tokens, 110U);
  EXPECT_EQ(summary.total.cached_tokens, 4U);
  EXPECT_EQ(summary.total.answer_tokens, 5U);
  EXPECT_EQ(summary.total.gap_s.max, 0.5);
  EXPECT_EQ(summary.PerSecond(5), 2.5);
  EXPECT_EQ(summary.errors.at("HTTP 503"), 1U);
}

TEST(LoadReport, TableHasARowAClassAndTheErrors) {
  const std::string text = LoadTable(Summarize(Records(), kClasses, 2));
  EXPECT_THAT(text, HasSubstr("| short | 2 | 1 | 100.0 | 100.0 | 100.0 | 100.0 | 50.0 | 200.0 | "
                              "200.0 | 200.0 | 400.0 | 400.0 | 400.0 | 400.0 |\n"));
  EXPECT_THAT(text, HasSubstr("| total | 3 | 1 |"));
  EXPECT_THAT(text, HasSubstr("answers 5 tokens, 2.5 t/s; prompts 110 tokens (4 cached), 55.0 t/s; "
                              "2.0 s\n"));
  EXPECT_THAT(text, HasSubstr("failed: 1 with HTTP 503\n"));
}

TEST(LoadReport, TableOfOneClassHasNoTotal) {
  const auto records = Records();
  const std::string text = LoadTable(Summarize(std::span(records).first(1), kClasses, 2));
  EXPECT_THAT(text, Not(HasSubstr("| total |")));
}

TEST(LoadReport, JsonHasTheSameAndTheRecords) {
  const LoadJson json = SummaryJson(Summarize(Records(), kClasses, 2));
  EXPECT_EQ(json["total"]["answer_tokens_per_s"], 2.5);
  EXPECT_EQ(json["classes"][1]["name"], "long");
  EXPECT_EQ(json["classes"][1]["first_text_s"]["p90"], 2.0);
  EXPECT_EQ(json["errors"]["HTTP 503"], 1);
  const LoadJson records = RecordsJson(Records(), kClasses);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1]["class"], "long");
  EXPECT_EQ(records[1]["text_at_s"], (std::vector<double>{2.0, 2.5}));
  EXPECT_EQ(records[2]["error"], "HTTP 503");
  EXPECT_EQ(records[2]["message"], "queue full");
  EXPECT_FALSE(records[0].contains("error"));
}

}  // namespace
}  // namespace weir
