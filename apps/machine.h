// What this process may use of the machine: cores and memory, as the kernel and control groups
// (version 1 and 2) say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir {

// Reads /proc and /sys below `root` ("" but in tests).
class Machine {
 public:
  explicit Machine(std::string root = "") : root_(std::move(root)) {}

  // Physical cores behind `cpus` (those that the scheduler may use), cut to the group's CPU quota;
  // at least 1. A second thread of a core is no further core: two share its vector units.
  [[nodiscard]] uint32_t CoreCount(std::span<const uint32_t> cpus) const;

  // Memory that can be had without swapping: the system's, cut to what is left in each group
  // around the process. 0 if it cannot be told.
  [[nodiscard]] uint64_t FreeMemoryBytes() const;

  // Memory there is, used or not, cut to the limit of each group around the process. 0 if it cannot
  // be told.
  [[nodiscard]] uint64_t MemoryBytes() const;

 private:
  // The group's folder of a controller, below its mount; a version 1 one if `version_1`.
  [[nodiscard]] std::string GroupPath(const std::string& controller, bool version_1) const;
  // The least that bytes_of(folder, files) gives for the groups around the process.
  template <class BytesOf>
  [[nodiscard]] uint64_t LeastOfGroups(const BytesOf& bytes_of) const;

  std::string root_;
};

// The logical CPUs that the scheduler may run this process on.
[[nodiscard]] std::vector<uint32_t> AllowedCpus();

}  // namespace weir
