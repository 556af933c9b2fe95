#include "api/stop_matcher.h"

#include <algorithm>

#include "base/check.h"

namespace weir {

// What the held text says about stop strings; npos: none.
struct StopMatcher::Scan {
  size_t complete = std::string::npos;  // where the leftmost complete one begins
  size_t begun = std::string::npos;     // where the leftmost begins that the text's end cuts off
};

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) WEIR_CHECK(!stop.empty());
}

StopMatcher::Scan StopMatcher::Find() const {
  Scan scan;
  for (const std::string& stop : stops_) {
    scan.complete = std::min(scan.complete, held_.find(stop));
    // Proper prefixes of `stop` at the end of the text, longest first.
    const size_t longest = std::min(held_.size(), stop.size() - 1);
    for (size_t count = longest; count > 0; --count) {
      if (held_.compare(held_.size() - count, count, stop, 0, count) == 0) {
        scan.begun = std::min(scan.begun, held_.size() - count);
        break;
      }
    }
  }
  return scan;
}

std::string StopMatcher::Release(size_t count) {
  std::string out = held_.substr(0, count);
  held_.erase(0, count);
  return out;
}

std::string StopMatcher::Push(std::string_view text) {
  if (matched_) return {};
  held_ += text;
  const Scan scan = Find();
  if (scan.complete == std::string::npos) return Release(std::min(scan.begun, held_.size()));
  if (scan.begun < scan.complete) return Release(scan.begun);  // it may win yet
  matched_ = true;
  std::string out = Release(scan.complete);
  held_.clear();
  return out;
}

std::string StopMatcher::Finish() {
  if (matched_) return {};
  const Scan scan = Find();
  matched_ = scan.complete != std::string::npos;
  std::string out = Release(std::min(scan.complete, held_.size()));
  held_.clear();
  return out;
}

}  // namespace weir
