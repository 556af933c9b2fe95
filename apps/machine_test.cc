#include "machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace weir {
namespace {

constexpr std::array<uint32_t, 4> kFour = {0, 1, 2, 3};

// A made-up /proc and /sys.
class MachineTest : public testing::Test {
 protected:
  MachineTest() : root_(testing::TempDir() + "/weir_machine_" + std::to_string(getpid())) {
    Write("/proc/meminfo", "MemTotal: 2000 kB\nMemFree: 5 kB\nMemAvailable: 1000 kB\n");
  }
  ~MachineTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void WriteSiblings(uint32_t cpu, const std::string& siblings) {
    Write("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          siblings + "\n");
  }

  std::string root_;
};

TEST_F(MachineTest, SecondThreadsOfACoreDoNotCount) {
  WriteSiblings(0, "0,2");
  WriteSiblings(1, "1,3");
  WriteSiblings(2, "0,2");
  WriteSiblings(3, "1,3");
  EXPECT_EQ(Machine(root_).CoreCount(kFour), 2U);
  EXPECT_EQ(Machine(root_).CoreCount(std::array<uint32_t, 2>{0, 2}), 1U);
}

TEST_F(MachineTest, WithoutTopologyEveryCpuIsACore) {
  EXPECT_EQ(Machine(root_).CoreCount(kFour), 4U);
  EXPECT_EQ(Machine(root_).CoreCount({}), 1U);
}

TEST_F(MachineTest, TheCpuQuotaOfAnyGroupAroundCuts) {
  Write("/proc/self/cgroup", "0::/outer/inner\n");
  Write("/sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  EXPECT_EQ(Machine(root_).CoreCount(kFour), 4U);
  Write("/sys/fs/cgroup/outer/cpu.max", "250000 100000\n");
  EXPECT_EQ(Machine(root_).CoreCount(kFour), 3U);
}

TEST_F(MachineTest, TheCpuQuotaOfVersionOneCuts) {
  Write("/proc/self/cgroup", "5:cpuacct,cpu:/job\n3:memory:/other\n");
  Write("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  Write("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Machine(root_).CoreCount(kFour), 1U);
}

TEST_F(MachineTest, FreeMemoryIsTheSystemsWithoutGroups) {
  EXPECT_EQ(Machine(root_).FreeMemoryBytes(), 1000U * 1024);
}

TEST_F(MachineTest, FreeMemoryIsWhatTheTightestGroupLeaves) {
  Write("/proc/self/cgroup", "0::/outer/inner\n");
  Write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("/sys/fs/cgroup/outer/inner/memory.current", "1000\n");
  Write("/sys/fs/cgroup/outer/memory.max", "500000\n");
  Write("/sys/fs/cgroup/outer/memory.current", "300000\n");
  EXPECT_EQ(Machine(root_).FreeMemoryBytes(), 200000U);
  Write("/sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 100000\n");
  EXPECT_EQ(Machine(root_).FreeMemoryBytes(), 300000U);
}

TEST_F(MachineTest, MemoryIsTheSystemsCutToTheTightestGroup) {
  EXPECT_EQ(Machine(root_).MemoryBytes(), 2000U * 1024);
  Write("/proc/self/cgroup", "0::/outer/inner\n4:memory:/job\n");
  Write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  Write("/sys/fs/cgroup/outer/memory.max", "500000\n");
  EXPECT_EQ(Machine(root_).MemoryBytes(), 500000U);
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
  EXPECT_EQ(Machine(root_).MemoryBytes(), 5000U);
}

TEST_F(MachineTest, FreeMemoryKnowsVersionOneGroups) {
  Write("/proc/self/cgroup", "4:memory:/job\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "100\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(Machine(root_).FreeMemoryBytes(), 0U);
}

}  // namespace
}  // namespace weir
