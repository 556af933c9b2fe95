// Time as a dependency, so that tests can set it.
#pragma once

#include <chrono>

namespace weir {

class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  virtual ~Clock() = default;
  [[nodiscard]] virtual TimePoint Now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] TimePoint Now() const override { return std::chrono::steady_clock::now(); }
};

}  // namespace weir
