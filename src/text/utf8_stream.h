// Turns a stream of token bytes into text that is valid UTF-8 after every step.
//
// Bytes of an unfinished character are held back; bytes that can never become one are replaced by
// U+FFFD as the Unicode standard recommends (one for each maximal invalid part).
#pragma once

#include <string>
#include <string_view>

namespace weir {

class Utf8Stream {
 public:
  // The text that `bytes` completes; may be empty.
  [[nodiscard]] std::string Push(std::string_view bytes);
  // What is held back, as U+FFFD; the stream is over.
  [[nodiscard]] std::string Finish();

 private:
  std::string held_;  // at most 3 bytes
};

[[nodiscard]] bool IsValidUtf8(std::string_view text);
// `text` with every invalid part replaced by U+FFFD.
[[nodiscard]] std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace weir
