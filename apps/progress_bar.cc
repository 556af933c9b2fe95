#include "progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace weir {

bool StderrIsTerminal() { return isatty(STDERR_FILENO) != 0; }

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), is_shown_(StderrIsTerminal()) {}

ProgressBar::~ProgressBar() {
  if (is_shown_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::Update(double fraction, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_shown_ || now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);
  constexpr int kWidth = 30;
  const double clamped = std::clamp(fraction, 0.0, 1.0);
  const int filled = static_cast<int>(clamped * kWidth);
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f} % {}", label_, "", filled, "",
             kWidth - filled, clamped * 100, note);
  std::fflush(stderr);
}

}  // namespace weir
