// What this machine reaches at most, measured: the rate of reading memory and that of multiplying
// bytes, for one thread and for all of a pool.
#pragma once

#include <cstdint>
#include <string>

#include "base/thread_pool.h"

namespace weir {

struct MachineRates {
  double read_bytes_per_s = 0;
  double int8_ops_per_s = 0;  // a multiplication and an addition are two
};

struct MachineLimits {
  MachineRates one_thread;
  MachineRates all_threads;
  std::string instruction;  // that reached int8_ops_per_s
};

// Reads a buffer of `buffer_bytes`, at least 256 MiB, several times, and multiplies in registers on
// the chosen path; keeps the best of each. Takes a second or two and the buffer's memory.
[[nodiscard]] MachineLimits MeasureLimits(ThreadPool& threads, uint64_t buffer_bytes);

}  // namespace weir
