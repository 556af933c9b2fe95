#include "sim/trace_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir {
namespace {

namespace fs = std::filesystem;

class TraceFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("weir_trace_folder_") + test->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }

  fs::path folder_;
};

constexpr const char* kMooncakeLine = R"({"timestamp": 0, "input_length": 1, "hash_ids": [0]})";
constexpr const char* kTextLine = R"({"timestamp": 1, "input": "text"})";
constexpr const char* kSession = R"({"block_size": 64, "tool_tokens": 0, "system_tokens": 0,
                                     "requests": [{"t": 0, "in": 64, "hash_ids": [1]}]})";

TEST_F(TraceFolder, AFileOfMooncakeIsATraceAndAFolderOfOthersIsOne) {
  Write("mooncake/b.jsonl", kMooncakeLine);
  Write("mooncake/a.jsonl", kMooncakeLine);
  Write("mooncake/README.md", "no trace");
  Write("other.csv", "a,b\n1,2\n");
  Write("agents/one/x.jsonl", kTextLine);
  Write("agents/one/y.jsonl", kTextLine);
  Write("agents/one/empty.jsonl", "");
  Write("sessions/1.json", kSession);
  Write("sessions/2.json", kSession);
  Write("sessions/other.json", "{}");
  const auto traces = ReadTraces(folder_.string(), {});
  ASSERT_TRUE(traces) << traces.error().message;
  ASSERT_EQ(traces->size(), 4U);
  EXPECT_EQ((*traces)[0].name, "one");
  EXPECT_EQ((*traces)[0].requests.size(), 2U);
  EXPECT_EQ((*traces)[1].name, "a");
  EXPECT_EQ((*traces)[1].block_tokens, 512U);
  EXPECT_EQ((*traces)[2].name, "b");
  EXPECT_EQ((*traces)[3].name, "sessions");
  EXPECT_EQ((*traces)[3].requests.size(), 2U);
}

TEST_F(TraceFolder, SessionsStartAtMomentsOfADayThatTheSeedSets) {
  for (int i = 0; i < 20; ++i) Write(std::to_string(i) + ".json", kSession);
  const auto first = ReadTraces(folder_.string(), {.start_seed = 1});
  const auto again = ReadTraces(folder_.string(), {.start_seed = 1});
  const auto other = ReadTraces(folder_.string(), {.start_seed = 2});
  ASSERT_TRUE(first && again && other);
  uint32_t moved = 0;
  for (size_t i = 0; i < 20; ++i) {
    const double time_s = first->front().requests[i].time_s;
    EXPECT_GE(time_s, 0);
    EXPECT_LT(time_s, 24 * 3600);
    EXPECT_EQ(time_s, again->front().requests[i].time_s);
    if (time_s != other->front().requests[i].time_s) ++moved;
  }
  EXPECT_EQ(moved, 20U);
}

TEST_F(TraceFolder, SaysWhatItDidNotFindOrCouldNotRead) {
  const auto none = ReadTraces(folder_.string(), {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  const auto missing = ReadTraces((folder_ / "missing").string(), {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kIo);
  Write("a.jsonl", std::string(kMooncakeLine) + "\n{");
  const auto broken = ReadTraces(folder_.string(), {});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message,
            (folder_ / "a.jsonl").string() + ": line 2: not JSON; the trace is not read");
}

}  // namespace
}  // namespace weir
