#include "bench_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "number_list.h"

namespace weir {
namespace {

Result<std::vector<uint32_t>> SequenceCounts(const std::string& text) {
  auto counts = WEIR_TRY(ParseNumberList("--npl", text));
  if (std::find(counts.begin(), counts.end(), 0U) != counts.end()) {
    return Fail(ErrorCode::kInvalidArgument, "--npl: 0 sequences decode nothing");
  }
  return counts;
}

Result<BenchTest> ParsePair(const std::string& pair, uint32_t depth) {
  const auto counts = WEIR_TRY(ParseNumberList("--pg", pair));
  if (counts.size() != 2 || counts[0] == 0 || counts[1] == 0) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("--pg: '{}' is no pair like 512,128", pair));
  }
  return BenchTest{.prompt_tokens = counts[0], .answer_tokens = counts[1], .depth = depth};
}

}  // namespace

Result<std::vector<BenchTest>> ListTests(const BenchPlan& plan) {
  const auto prompts = WEIR_TRY(ParseNumberList("-p", plan.prompt_tokens));
  const auto answers = WEIR_TRY(ParseNumberList("-n", plan.answer_tokens));
  const auto sequence_counts = WEIR_TRY(SequenceCounts(plan.sequence_counts));
  std::vector<BenchTest> tests;
  for (const uint32_t depth : WEIR_TRY(ParseNumberList("-d", plan.depths))) {
    for (const uint32_t count : prompts) {
      if (count > 0) tests.push_back({.prompt_tokens = count, .depth = depth});
    }
    for (const uint32_t count : answers) {
      if (count == 0) continue;
      for (const uint32_t sequences : sequence_counts) {
        tests.push_back({.answer_tokens = count, .depth = depth, .sequence_count = sequences});
      }
    }
    for (const std::string& pair : plan.prompt_and_answer) {
      tests.push_back(WEIR_TRY(ParsePair(pair, depth)));
    }
  }
  if (tests.empty()) return Fail(ErrorCode::kInvalidArgument, "nothing to measure: -p or -n");
  return tests;
}

std::string BenchTest::Name() const {
  std::string name;
  if (prompt_tokens > 0) name += fmt::format("pp{}", prompt_tokens);
  if (prompt_tokens > 0 && answer_tokens > 0) name += "+";
  if (answer_tokens > 0) name += fmt::format("tg{}", answer_tokens);
  if (sequence_count > 1) name += fmt::format(" pl{}", sequence_count);
  if (depth > 0) name += fmt::format(" @ d{}", depth);
  return name;
}

}  // namespace weir
