// Server-sent events out of bytes that come in any pieces (WHATWG HTML, section 9.2.6).
//
// Only the data of an event matters here; comments and other fields are passed over.
// Ownership: a plain value. Threads: one caller.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

class SseReader {
 public:
  static constexpr size_t kEventBytesMax = 16 << 20;

  // Hands on the data of each event that ends in `bytes`. kCorrupt: an event is too long.
  Result<void> Feed(std::string_view bytes, const std::function<void(std::string_view)>& on_data);

 private:
  void TakeLine(const std::function<void(std::string_view)>& on_data);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  // the last byte was '\r': a '\n' belongs to it
};

}  // namespace weir
