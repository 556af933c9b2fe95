#include "sim/trace_formats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir {
namespace {

using Reader = Result<void> (*)(std::string_view, std::string_view, TraceBuilder&);

// What the reader says of `text`, or "".
std::string ErrorOf(Reader read, std::string_view text) {
  TraceBuilder builder("trace", 64);
  const Result<void> result = read(text, "file", builder);
  if (result) return "";
  EXPECT_EQ(result.error().code, ErrorCode::kCorrupt);
  return result.error().message;
}

Result<void> AddSession(std::string_view text, std::string_view path, TraceBuilder& builder) {
  return AddClaudeCodeSession(text, path, 0, 0, builder);
}

// Nodes from the first block to the last.
std::vector<uint32_t> PathOf(const Trace& trace, const TraceRequest& request) {
  std::vector<uint32_t> path;
  for (uint32_t n = request.last_node; n != 0; n = trace.nodes[n].parent)
    path.insert(path.begin(), n);
  return path;
}

TEST(MooncakeTrace, SharesBlocksAfterEqualBlocksOnly) {
  TraceBuilder builder("trace", kMooncakeBlockTokens);
  ASSERT_TRUE(AddMooncakeLines(
      "{\"timestamp\": 2000, \"input_length\": 1536, \"output_length\": 9, \"hash_ids\": [1, 2, "
      "9]}\n"
      "\n"
      "{\"timestamp\": 500, \"input_length\": 1300, \"output_length\": 9, \"hash_ids\": [1, 2, "
      "3]}\n"
      "{\"timestamp\": 500, \"input_length\": 600, \"output_length\": 9, \"hash_ids\": [2, 3]}",
      "file", builder));
  const Trace trace = std::move(builder).Build();
  ASSERT_EQ(trace.requests.size(), 3U);  // by time; equal times in the order of the file
  EXPECT_EQ(trace.requests[0].token_count, 1300U);
  EXPECT_EQ(trace.requests[1].token_count, 600U);
  EXPECT_EQ(trace.requests[2].time_s, 2.0);
  EXPECT_EQ(trace.unique_blocks(), 6U);  // 1, 12, 129, 123, 2, 23
  const auto first = PathOf(trace, trace.requests[0]);
  const auto last = PathOf(trace, trace.requests[2]);
  ASSERT_EQ(first.size(), 3U);
  EXPECT_EQ(first[1], last[1]);
  EXPECT_NE(first[2], last[2]);
  EXPECT_NE(PathOf(trace, trace.requests[1])[0], first[1]);
  EXPECT_EQ(trace.requests[0].answer_tokens, 9U);
  EXPECT_EQ(trace.TokensTo(trace.requests[0], 2), 1024U);
  EXPECT_EQ(trace.TokensTo(trace.requests[0], 3), 1300U);  // the last block is cut
}

TEST(MooncakeTrace, NamesTheLineThatIsWrong) {
  const std::string good = R"({"timestamp": 0, "input_length": 1, "hash_ids": [0]})";
  EXPECT_EQ(ErrorOf(AddMooncakeLines, good), "");
  EXPECT_EQ(ErrorOf(AddMooncakeLines, good + "\n{\"timestamp\": 0"),
            "file: line 2: not JSON; the trace is not read");
  EXPECT_EQ(ErrorOf(AddMooncakeLines, good + "\n\n[1]"),
            "file: line 3: not a JSON object; the trace is not read");
  EXPECT_EQ(ErrorOf(AddMooncakeLines, R"({"input_length": 1, "hash_ids": [0]})"),
            "file: line 1: 'timestamp' is not a number; the trace is not read");
  EXPECT_EQ(ErrorOf(AddMooncakeLines, R"({"timestamp": 0, "input_length": -1, "hash_ids": [0]})"),
            "file: line 1: 'input_length' is -1, not 0..2147483647; the trace is not read");
  EXPECT_EQ(ErrorOf(AddMooncakeLines, R"({"timestamp": 0, "input_length": 1, "hash_ids": 7})"),
            "file: line 1: 'hash_ids' is not an array; the trace is not read");
  EXPECT_EQ(
      ErrorOf(AddMooncakeLines, R"({"timestamp": 0, "input_length": 1, "hash_ids": [-7]})"),
      "file: line 1: 'hash_ids' has something else than numbers from 0; the trace is not read");
}

TEST(AzureTrace, TimesCountFromTheFirstLine) {
  TraceBuilder builder("trace", kAzureBlockTokens);
  ASSERT_TRUE(AddAzureLines(
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-30 23:59:59.5000000,374,44\r\n"
      "2023-12-01 00:01:00.2500000,91,16\r\n",
      "file", builder));
  const Trace trace = std::move(builder).Build();
  ASSERT_EQ(trace.requests.size(), 2U);
  EXPECT_EQ(trace.requests[0].time_s, 0);
  EXPECT_EQ(trace.requests[0].token_count, 374U);
  EXPECT_EQ(trace.requests[0].answer_tokens, 44U);
  EXPECT_NEAR(trace.requests[1].time_s, 60.75, 1e-6);
  EXPECT_EQ(trace.unique_blocks(), 0U);
}

TEST(AzureTrace, NamesTheLineThatIsWrong) {
  const std::string head = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  EXPECT_EQ(ErrorOf(AddAzureLines, head + "2023-11-16 18:15:46.68,374,44"), "");
  for (const char* line :
       {"2023-11-16 18:15:46.68,374", "2023-11-16 18:15:46.68,374,44,1", "2023-02-30 18:15:46,1,1",
        "2023-11-16 24:00:00,1,1", "2023-11-16 18:15:46.68,-3,44", "x"}) {
    EXPECT_EQ(ErrorOf(AddAzureLines, head + line),
              "file: line 2: not a time and two counts of tokens; the trace is not read");
  }
}

// tool + system = 130 tokens: the first two blocks of a session are shared.
TEST(ClaudeCodeTrace, SharesToolAndSystemBlocksBetweenSessionsOfEqualSizes) {
  const auto session = [](int tools, const char* requests) {
    return R"({"id": "x", "block_size": 64, "tool_tokens": )" + std::to_string(tools) +
           R"(, "system_tokens": 30, "requests": [)" + requests + "]}";
  };
  TraceBuilder builder("trace", kClaudeCodeBlockTokens);
  const char* two = R"({"t": 0, "in": 200, "hash_ids": [1, 2, 3]},
                       {"t": 5, "in": 260, "hash_ids": [1, 2, 3, 4]})";
  ASSERT_TRUE(AddClaudeCodeSession(session(100, two), "a", 0, 1000, builder));
  ASSERT_TRUE(AddClaudeCodeSession(session(100, two), "b", 1, 2000, builder));
  ASSERT_TRUE(AddClaudeCodeSession(session(101, two), "c", 2, 3000, builder));
  const Trace trace = std::move(builder).Build();
  ASSERT_EQ(trace.requests.size(), 6U);
  EXPECT_EQ(trace.requests[1].time_s, 1005.0);
  EXPECT_EQ(trace.unique_blocks(), 4U + 2U + 4U);
  const auto a = PathOf(trace, trace.requests[1]);
  const auto b = PathOf(trace, trace.requests[3]);
  const auto c = PathOf(trace, trace.requests[5]);
  ASSERT_EQ(a.size(), 4U);
  EXPECT_EQ(a[1], b[1]);
  EXPECT_NE(a[2], b[2]);
  EXPECT_NE(a[0], c[0]);
}

TEST(ClaudeCodeTrace, ASubAgentHasItsOwnClockAndSharedBlocks) {
  const std::string text =
      R"({"block_size": 64, "tool_tokens": 0, "system_tokens": 64, "requests": [
    {"t": 1, "in": 128, "hash_ids": [1, 2]},
    {"t": 10, "type": "subagent", "tool_tokens": 64, "system_tokens": 0,
     "requests": [{"t": 0.5, "in": 128, "hash_ids": [7, 8]}]}]})";
  TraceBuilder builder("trace", kClaudeCodeBlockTokens);
  ASSERT_TRUE(AddClaudeCodeSession(text, "a", 0, 100, builder));
  ASSERT_TRUE(AddClaudeCodeSession(text, "b", 1, 200, builder));
  const Trace trace = std::move(builder).Build();
  ASSERT_EQ(trace.requests.size(), 4U);
  EXPECT_EQ(trace.requests[1].time_s, 110.5);
  EXPECT_EQ(trace.unique_blocks(), 2U * 4U - 2U);  // block 1 and block 7 are shared
}

TEST(ClaudeCodeTrace, NamesTheRequestThatIsWrong) {
  EXPECT_EQ(ErrorOf(AddSession, "{"), "file: request 0: not JSON; the trace is not read");
  EXPECT_EQ(ErrorOf(AddSession, R"({"block_size": 32})"),
            "file: request 0: 'block_size' is 32, not 64; the trace is not read");
  const std::string head =
      R"({"block_size": 64, "tool_tokens": 0, "system_tokens": 0, "requests": )";
  EXPECT_EQ(ErrorOf(AddSession, head + "7}"),
            "file: request 0: 'requests' is not an array; the trace is not read");
  EXPECT_EQ(ErrorOf(AddSession, head + R"([{"t": 0, "in": 64, "hash_ids": [1]}, {"t": 0}]})"),
            "file: request 2: 'in' is not a number; the trace is not read");
  EXPECT_EQ(ErrorOf(AddSession, head + R"([{"t": 0, "tool_tokens": 0, "system_tokens": 0,
                                            "requests": [{"t": 0, "requests": []}]}]})"),
            "file: request of a sub-agent 1: a sub-agent's sub-agent; the trace is not read");
}

TEST(AgentTextTrace, TakesSixtyFourBytesForABlock) {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const auto line = [](int time_us, const std::string& input) {
    return "{\"timestamp\": " + std::to_string(time_us) + ", \"input\": \"" + input +
           "\", \"session_id\": \"s\"}\n";
  };
  TraceBuilder builder("trace", kAgentTextBlockTokens);
  ASSERT_TRUE(AddAgentTextLines(
      line(1'000'000, a + b + "cccc") + line(3'000'000, a + a) + line(2'000'000, "short"), "file",
      builder));
  const Trace trace = std::move(builder).Build();
  ASSERT_EQ(trace.requests.size(), 3U);
  EXPECT_EQ(trace.requests[0].token_count, 33U);
  EXPECT_EQ(trace.requests[1].token_count, 1U);
  EXPECT_EQ(trace.requests[1].last_node, 0U);
  EXPECT_EQ(trace.requests[2].time_s, 3.0);
  EXPECT_EQ(trace.unique_blocks(), 3U);
}

TEST(AgentTextTrace, NamesTheLineThatIsWrong) {
  EXPECT_EQ(ErrorOf(AddAgentTextLines, R"({"timestamp": 1, "input": 2})"),
            "file: line 1: 'input' is not text; the trace is not read");
  EXPECT_EQ(ErrorOf(AddAgentTextLines, R"({"timestamp": "1", "input": "a"})"),
            "file: line 1: 'timestamp' is not a number; the trace is not read");
}

TEST(TraceFormat, IsKnownByTheMembersOfTheFirstObject) {
  EXPECT_EQ(SniffTraceFormat(R"({"timestamp": 0, "input_length": 1, "hash_ids": [0]})"),
            TraceFormat::kMooncake);
  EXPECT_EQ(SniffTraceFormat(R"({"block_size":64,"tool_tokens":1,"requests":[]})"),
            TraceFormat::kClaudeCode);
  EXPECT_EQ(SniffTraceFormat(R"({"timestamp": 1, "input": "text"})"), TraceFormat::kAgentText);
  EXPECT_EQ(SniffTraceFormat(R"({"messages": []})"), TraceFormat::kUnknown);
  EXPECT_EQ(SniffTraceFormat("TIMESTAMP,ContextTokens,GeneratedTokens\n"), TraceFormat::kAzure);
  EXPECT_EQ(SniffTraceFormat(""), TraceFormat::kUnknown);
}

}  // namespace
}  // namespace weir
