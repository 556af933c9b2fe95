// Ends an answer at a stop string, in text that comes in pieces.
//
// The result depends on the text alone, never on how it was cut: the answer ends before the stop
// string that begins leftmost (of those that begin there, the one that ends first). Text that may
// still turn out to begin a stop string is held back, no more.
//
// Cost a piece: (held text + piece) x number of stop strings at worst; both are bounded by the API.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir {

class StopMatcher {
 public:
  // No stop string is empty.
  explicit StopMatcher(std::vector<std::string> stops);

  // The text that is now certain to belong to the answer. After a match: nothing more.
  [[nodiscard]] std::string Push(std::string_view text);
  // The text is over: what was held back, up to a stop string that is complete in it.
  [[nodiscard]] std::string Finish();

  [[nodiscard]] bool matched() const { return matched_; }

 private:
  struct Scan;
  [[nodiscard]] Scan Find() const;
  std::string Release(size_t count);

  std::vector<std::string> stops_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace weir
