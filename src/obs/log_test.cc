#include "obs/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Standard error as a pipe that is read only by Read().
class LogTest : public testing::Test {
 protected:
  LogTest() : before_(dup(STDERR_FILENO)) {
    EXPECT_EQ(pipe(ends_.data()), 0);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
    dup2(ends_[1], STDERR_FILENO);
    SetUpLog(LogLevel::kInfo);
  }
  ~LogTest() override {
    dup2(before_, STDERR_FILENO);
    for (const int fd : {before_, ends_[0], ends_[1]}) close(fd);
    SetUpLog(LogLevel::kOff);
  }
  std::string Read() {
    std::string all(1 << 20, '\0');
    size_t count = 0;
    for (ssize_t got; (got = read(ends_[0], &all[count], all.size() - count)) > 0;) count += got;
    all.resize(count);
    return all;
  }

 private:
  int before_;
  std::array<int, 2> ends_{};
};

TEST_F(LogTest, APipeThatNobodyReadsStopsNoThread) {
  const std::string line(100, 'x');
  for (int i = 0; i < 5000; ++i) LogInfo(line);  // more than a pipe holds; a write would wait
  EXPECT_THAT(Read(), AllOf(HasSubstr(line), Not(HasSubstr("dropped"))));
  LogInfo("after");
  EXPECT_THAT(Read(), testing::ContainsRegex("warning [0-9]+ lines dropped.*\n.* info after\n"));
  LogInfo("last");
  EXPECT_THAT(Read(), AllOf(HasSubstr("last"), Not(HasSubstr("dropped"))));
}

}  // namespace
}  // namespace weir
