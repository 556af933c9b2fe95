#include "api/message_starts.h"

#include <algorithm>
#include <string_view>

#include "api/chat_messages.h"

namespace weir {
namespace {

constexpr size_t kLookAhead = 16;  // messages in a row that a template may leave out, about

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view ContentOf(const Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_string()) return {};
  return Trim(content->get_ref<const std::string&>());
}

}  // namespace

std::vector<size_t> FindMessageStarts(const Prompt& prompt, const Json& messages) {
  std::vector<std::string_view> contents;
  for (const Json& message : messages) contents.push_back(ContentOf(message));

  std::vector<size_t> starts;
  size_t next = 0;  // message
  for (size_t part = 0; part < prompt.size() && next < contents.size(); ++part) {
    if (prompt[part].parse_special) continue;
    const std::string_view text = Trim(prompt[part].text);
    if (text.empty()) continue;
    // The name of a role is user text too: taken for a content, it may be that of the next message
    // (a start two tokens early), but not of one further on.
    const size_t ahead = IsRole(text) ? 1 : kLookAhead;
    const size_t end = std::min(contents.size(), next + ahead);
    for (size_t i = next; i < end; ++i) {
      const std::string_view content = contents[i];
      const bool has_whole = text.starts_with(content) || text.ends_with(content);
      const bool is_end = i == next && content.ends_with(text);  // many texts end with a short one
      if (content.empty() || (!has_whole && !is_end)) continue;
      starts.push_back(part);
      next = i + 1;
      break;
    }
  }
  return starts;
}

}  // namespace weir
