#include "machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

namespace weir {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<int64_t> Number(const std::string& path) {
  std::istringstream line(FirstLine(path));
  int64_t value = 0;
  if (line >> value) return value;
  return std::nullopt;  // missing, or "max"
}

// The value after `name` in a file of "name value" lines; 0 without it.
uint64_t NamedNumber(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t value = 0;
    if (words >> word >> value && word == name) return value;
  }
  return 0;
}

// Where a version of control groups says what a group may use and does use.
struct MemoryFiles {
  const char* limit;
  const char* used;
  const char* cache_name;  // in memory.stat: pages of files that were read once
};
constexpr MemoryFiles kVersion1 = {"/memory.limit_in_bytes", "/memory.usage_in_bytes",
                                   "total_inactive_file"};
constexpr MemoryFiles kVersion2 = {"/memory.max", "/memory.current", "inactive_file"};

uint64_t LimitOfGroup(const std::string& folder, const MemoryFiles& files) {
  const auto limit = Number(folder + files.limit);
  return limit && *limit >= 0 ? static_cast<uint64_t>(*limit) : kNoLimit;
}

// Files that were read once are given up first: they count as free.
uint64_t LeftInGroup(const std::string& folder, const MemoryFiles& files) {
  const auto limit = Number(folder + files.limit);
  const auto used = Number(folder + files.used);
  if (!limit || !used || *limit < 0) return kNoLimit;
  const auto cached = static_cast<int64_t>(NamedNumber(folder + "/memory.stat", files.cache_name));
  return static_cast<uint64_t>(std::max<int64_t>(*limit - std::max<int64_t>(*used - cached, 0), 0));
}

// Calls visit(folder) for a group's folder and those around it up to the mount.
template <class Visit>
void ForEachAround(const std::string& mount, std::string group, const Visit& visit) {
  while (true) {
    visit(mount + group);
    if (group.empty()) return;
    group.erase(group.rfind('/'));
  }
}

}  // namespace

std::string Machine::GroupPath(const std::string& controller, bool version_1) const {
  std::ifstream file(root_ + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_it =
        version_1 ? names.find("," + controller + ",") != std::string::npos : names == ",,";
    if (!is_it) continue;
    const std::string path = line.substr(second + 1);
    return path.size() > 1 && path[0] == '/' ? path : "";
  }
  return "";
}

uint32_t Machine::CoreCount(std::span<const uint32_t> cpus) const {
  std::set<std::string> cores;
  for (const uint32_t cpu : cpus) {
    const std::string siblings = FirstLine(
        fmt::format("{}/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", root_, cpu));
    cores.insert(siblings.empty() ? fmt::format("cpu{}", cpu) : siblings);
  }
  double quota = std::max<double>(1, static_cast<double>(cores.size()));
  ForEachAround(root_ + "/sys/fs/cgroup", GroupPath("", false), [&](const std::string& folder) {
    std::istringstream line(FirstLine(folder + "/cpu.max"));
    double limit = 0;
    double period = 0;
    if (line >> limit >> period && period > 0) quota = std::min(quota, limit / period);
  });
  ForEachAround(
      root_ + "/sys/fs/cgroup/cpu", GroupPath("cpu", true), [&](const std::string& folder) {
        const auto limit = Number(folder + "/cpu.cfs_quota_us");
        const auto period = Number(folder + "/cpu.cfs_period_us");
        if (limit && period && *limit > 0 && *period > 0) {
          quota = std::min(quota, static_cast<double>(*limit) / static_cast<double>(*period));
        }
      });
  return static_cast<uint32_t>(std::max(1.0, std::ceil(quota)));
}

template <class BytesOf>
uint64_t Machine::LeastOfGroups(const BytesOf& bytes_of) const {
  uint64_t least = kNoLimit;
  ForEachAround(root_ + "/sys/fs/cgroup", GroupPath("", false), [&](const std::string& folder) {
    least = std::min(least, bytes_of(folder, kVersion2));
  });
  ForEachAround(
      root_ + "/sys/fs/cgroup/memory", GroupPath("memory", true),
      [&](const std::string& folder) { least = std::min(least, bytes_of(folder, kVersion1)); });
  return least;
}

uint64_t Machine::FreeMemoryBytes() const {
  return std::min(NamedNumber(root_ + "/proc/meminfo", "MemAvailable:") * 1024,
                  LeastOfGroups(LeftInGroup));
}

uint64_t Machine::MemoryBytes() const {
  return std::min(NamedNumber(root_ + "/proc/meminfo", "MemTotal:") * 1024,
                  LeastOfGroups(LimitOfGroup));
}

std::vector<uint32_t> AllowedCpus() {
  std::vector<uint32_t> cpus;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return {0};
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace weir
