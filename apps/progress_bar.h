// A progress bar on standard error, only where a person watches (a terminal).
#pragma once

#include <chrono>
#include <string>

namespace weir {

class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();  // wipes the bar
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at most ten times a second. `note` follows the bar ("12 of 40 windows").
  void Update(double fraction, const std::string& note = "");

 private:
  std::string label_;
  bool is_shown_;
  std::chrono::steady_clock::time_point next_draw_{};
};

// Whether standard error is a terminal.
[[nodiscard]] bool StderrIsTerminal();

}  // namespace weir
