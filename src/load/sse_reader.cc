#include "load/sse_reader.h"

#include <fmt/format.h>

namespace weir {

Result<void> SseReader::Feed(std::string_view bytes,
                             const std::function<void(std::string_view)>& on_data) {
  for (const char byte : bytes) {
    const bool belongs_to_return = after_return_ && byte == '\n';
    after_return_ = byte == '\r';
    if (belongs_to_return) continue;
    if (byte == '\n' || byte == '\r') {
      TakeLine(on_data);
    } else {
      line_ += byte;
    }
    if (line_.size() + data_.size() > kEventBytesMax) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("an event above {} bytes; the stream is given up", kEventBytesMax));
    }
  }
  return {};
}

void SseReader::TakeLine(const std::function<void(std::string_view)>& on_data) {
  const std::string_view line = line_;
  if (line.empty()) {
    if (has_data_) on_data(data_);
    data_.clear();
    has_data_ = false;
  } else if (line == "data" || line.starts_with("data:")) {
    std::string_view value = line.substr(std::min<size_t>(line.size(), 5));
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
  line_.clear();
}

}  // namespace weir
