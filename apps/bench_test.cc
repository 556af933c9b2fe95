#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench_plan.h"
#include "bench_report.h"
#include "bench_run.h"
#include "number_list.h"
#include "support/model_runner.h"

namespace weir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<uint32_t> Numbers(const std::string& text) {
  const auto numbers = ParseNumberList("-p", text);
  return numbers ? *numbers : std::vector<uint32_t>{};
}

// What llama-bench's README promises of its lists.
TEST(NumberList, TakesListsRangesAndSteps) {
  EXPECT_THAT(Numbers("512"), ElementsAre(512));
  EXPECT_THAT(Numbers("0"), ElementsAre(0));
  EXPECT_THAT(Numbers("128,256,8"), ElementsAre(128, 256, 8));
  EXPECT_THAT(Numbers("1-3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(Numbers("0-4096+1024"), ElementsAre(0, 1024, 2048, 3072, 4096));
  EXPECT_THAT(Numbers("1-16*2"), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(Numbers("7,1-2"), ElementsAre(7, 1, 2));
}

TEST(NumberList, NamesWhatIsNoCount) {
  for (const char* text : {"", "x", "5,", ",5", "-1", "5-", "5-1", "1-9+0", "0-9*2", "1-9*1",
                           "1-9/2", "5 ", "99999999999", "0-1000000"}) {
    const auto numbers = ParseNumberList("-d", text);
    ASSERT_FALSE(numbers) << text;
    EXPECT_THAT(numbers.error().message, HasSubstr("-d"));
  }
}

TEST(BenchTest, RowsAreNamedAsInLlamaBench) {
  EXPECT_EQ((BenchTest{.prompt_tokens = 512}).Name(), "pp512");
  EXPECT_EQ((BenchTest{.answer_tokens = 64, .depth = 4096}).Name(), "tg64 @ d4096");
  EXPECT_EQ((BenchTest{.prompt_tokens = 512, .answer_tokens = 128}).Name(), "pp512+tg128");
  EXPECT_EQ((BenchTest{.answer_tokens = 64, .depth = 512, .sequence_count = 4}).Name(),
            "tg64 pl4 @ d512");
}

std::vector<std::string> NamesOf(const BenchPlan& plan) {
  std::vector<std::string> names;
  for (const BenchTest& test : testing::OrStop(ListTests(plan))) names.push_back(test.Name());
  return names;
}

TEST(BenchPlan, DecodeRowsAloneAreMeasuredForEachNumberOfSequences) {
  EXPECT_THAT(NamesOf({.prompt_tokens = "16",
                       .answer_tokens = "8",
                       .depths = "0,64",
                       .sequence_counts = "1,4",
                       .prompt_and_answer = {"16,8"}}),
              ElementsAre("pp16", "tg8", "tg8 pl4", "pp16+tg8", "pp16 @ d64", "tg8 @ d64",
                          "tg8 pl4 @ d64", "pp16+tg8 @ d64"));
}

TEST(BenchPlan, NamesTheFlagAtFault) {
  for (const auto& [plan, flag] : std::vector<std::pair<BenchPlan, std::string>>{
           {{.sequence_counts = "0"}, "--npl"},
           {{.sequence_counts = "1,x"}, "--npl"},
           {{.prompt_and_answer = {"5"}}, "--pg"},
           {{.depths = "x"}, "-d"},
           {{.prompt_tokens = "0", .answer_tokens = "0"}, "-p"}}) {
    const auto tests = ListTests(plan);
    ASSERT_FALSE(tests) << flag;
    EXPECT_THAT(tests.error().message, HasSubstr(flag));
  }
}

// More sequences than the chunk has tiles, all entering a tile in one step, beyond the window.
TEST(BenchRun, SequencesDecodeTogetherOverTileEdges) {
  ThreadPool pool(2);
  const GgufFile file =
      testing::OrStop(GgufFile::Open(testing::GoldenModelPath("gemma3-w128-seed2.gguf")));
  Model model = testing::OrStop(Model::Load(file, pool, nullptr));
  const BenchTest test{.answer_tokens = 140, .depth = 250, .sequence_count = 5};
  BenchRun run = testing::OrStop(BenchRun::Create(model, test, 32));
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto times = run.Once();
    ASSERT_TRUE(times) << times.error().message;
    EXPECT_GT(times->depth_ns, 0U);
    EXPECT_GT(times->test_ns, 0U);
  }
}

BenchResult MakeResult() {
  BenchResult result;
  result.model = {
      .path = "m.gguf", .type = "gemma3 270M Q8_0", .bytes = 3 << 20, .parameters = 5000000};
  result.test = {.prompt_tokens = 100};
  result.threads = 2;
  result.samples = {1'000'000'000, 500'000'000};  // 100 and 200 tokens a second
  return result;
}

TEST(BenchReport, MarkdownHasLlamaBenchsColumns) {
  const auto report = BenchReport::Create("md");
  ASSERT_TRUE(report);
  EXPECT_EQ((*report)->Begin(),
            "| model                          |       size |     params | backend    | threads |"
            "            test |                  t/s |\n"
            "| ------------------------------ | ---------: | ---------: | ---------- | ------: |"
            " --------------: | -------------------: |\n");
  EXPECT_EQ((*report)->Row(MakeResult()),
            "| gemma3 270M Q8_0               |   3.00 MiB |     5.00 M | CPU        |       2 |"
            "           pp100 |       150.00 ± 70.71 |\n");
}

TEST(BenchReport, JsonIsOneListOfRecords) {
  const auto report = BenchReport::Create("json");
  ASSERT_TRUE(report);
  std::string text = (*report)->Begin();
  text += (*report)->Row(MakeResult());
  text += (*report)->Row(MakeResult());
  text += (*report)->End();
  const auto json = nlohmann::json::parse(text);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["n_prompt"], 100);
  EXPECT_EQ(json[0]["n_gen"], 0);
  EXPECT_EQ(json[0]["n_threads"], 2);
  EXPECT_EQ(json[0]["avg_ns"], 750'000'000);
  EXPECT_DOUBLE_EQ(json[0]["avg_ts"], 150.0);
  EXPECT_NEAR(json[0]["stddev_ts"], 70.7107, 1e-4);
  EXPECT_EQ(json[1]["samples_ns"].size(), 2U);
}

// Names and meaning of llama-batched-bench's output.
TEST(BenchReport, JsonOfADecodeRowHasBatchedBenchsFields) {
  BenchResult result = MakeResult();
  result.test = {.answer_tokens = 8, .depth = 100, .sequence_count = 4};
  result.samples = {2'000'000'000};
  result.depth_samples = {500'000'000};
  const auto report = BenchReport::Create("jsonl");
  ASSERT_TRUE(report);
  const auto json = nlohmann::json::parse((*report)->Row(result));
  EXPECT_EQ(json["pp"], 100);
  EXPECT_EQ(json["tg"], 8);
  EXPECT_EQ(json["pl"], 4);
  EXPECT_EQ(json["n_kv"], 432);
  EXPECT_DOUBLE_EQ(json["t_pp"], 0.5);
  EXPECT_DOUBLE_EQ(json["speed_pp"], 800);
  EXPECT_DOUBLE_EQ(json["t_tg"], 2);
  EXPECT_DOUBLE_EQ(json["speed_tg"], 16);
  EXPECT_DOUBLE_EQ(json["speed"], 432 / 2.5);
  EXPECT_DOUBLE_EQ(json["avg_ts"], 16);
}

Roofline MakeRoofline() {
  const MachineLimits limits{.one_thread = {.read_bytes_per_s = 10e9, .int8_ops_per_s = 1e12},
                             .all_threads = {.read_bytes_per_s = 20e9, .int8_ops_per_s = 2e12},
                             .instruction = "vpdpbusd"};
  const ModelWork work{.dense_bytes = 100'000'000};
  return HoldAgainst(limits, work, {.answer_tokens = 4}, 150);
}

TEST(BenchReport, RooflineIsASecondTable) {
  BenchResult result = MakeResult();
  result.test = {.answer_tokens = 4};
  result.roofline = MakeRoofline();
  const auto report = BenchReport::Create("md");
  ASSERT_TRUE(report);
  EXPECT_THAT((*report)->Row(result), HasSubstr("tg4"));
  // 100 MB a token, 150 tokens a second: 15 of 20 GB/s.
  EXPECT_THAT((*report)->End(),
              HasSubstr("| memory read     |     100.0 MB |     15.0 GB/s |     20.0 GB/s |"
                        "     10.0 GB/s |   75.0 % |\n"));
}

TEST(BenchReport, JsonHasTheRoofline) {
  BenchResult result = MakeResult();
  result.test = {.answer_tokens = 4};
  result.roofline = MakeRoofline();
  const auto report = BenchReport::Create("jsonl");
  ASSERT_TRUE(report);
  const auto json = nlohmann::json::parse((*report)->Row(result));
  EXPECT_DOUBLE_EQ(json["roofline"]["read_bytes"]["of_limit"], 0.75);
  EXPECT_FALSE(json["roofline"].contains("int8_ops"));
}

TEST(BenchReport, AnotherFormatIsRefused) { EXPECT_FALSE(BenchReport::Create("sql")); }

}  // namespace
}  // namespace weir
