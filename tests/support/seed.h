// The seed of a random test: new each run, printed with a failure, replayed by WEIR_SEED=n.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace weir::test {

inline uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("WEIR_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : uint64_t{std::random_device{}()};
  }();
  return seed;
}

}  // namespace weir::test

// At the top of a random test: names the seed in every failure of the scope.
#define WEIR_TRACE_SEED() \
  SCOPED_TRACE("replay with WEIR_SEED=" + std::to_string(::weir::test::Seed()))
