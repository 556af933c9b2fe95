#include "jinja/text.h"

#include <algorithm>
#include <utility>

namespace weir::jinja {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
  if (origin == Origin::kUser && !bytes_.empty()) {
    user_ranges_.push_back({0, static_cast<uint32_t>(bytes_.size())});
  }
}

void Text::Append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  const auto begin = static_cast<uint32_t>(bytes_.size());
  bytes_ += bytes;
  if (origin != Origin::kUser) return;
  const auto end = static_cast<uint32_t>(bytes_.size());
  if (!user_ranges_.empty() && user_ranges_.back().end == begin) {
    user_ranges_.back().end = end;
  } else {
    user_ranges_.push_back({begin, end});
  }
}

void Text::AppendSlice(const Text& other, size_t begin, size_t end) {
  if (begin >= end) return;
  const std::string_view source = other.view();
  auto range = std::partition_point(other.user_ranges_.begin(), other.user_ranges_.end(),
                                    [&](const Range& r) { return r.end <= begin; });
  size_t at = begin;
  for (; range != other.user_ranges_.end() && range->begin < end; ++range) {
    const size_t user_begin = std::max<size_t>(range->begin, at);
    const size_t user_end = std::min<size_t>(range->end, end);
    Append(source.substr(at, user_begin - at), Origin::kTemplate);
    Append(source.substr(user_begin, user_end - user_begin), Origin::kUser);
    at = user_end;
  }
  Append(source.substr(at, end - at), Origin::kTemplate);
}

Text Text::Slice(size_t begin, size_t end) const {
  Text slice;
  slice.AppendSlice(*this, begin, end);
  return slice;
}

Origin Text::WorstOrigin() const {
  return user_ranges_.empty() ? Origin::kTemplate : Origin::kUser;
}

uint64_t Text::Footprint() const {
  return sizeof(Text) + bytes_.size() + user_ranges_.size() * sizeof(Range);
}

namespace {

size_t SequenceLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 1;
}

}  // namespace

size_t NextCharacter(std::string_view text, size_t at) {
  const size_t length = SequenceLength(static_cast<unsigned char>(text[at]));
  if (at + length > text.size()) return at + 1;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return at + 1;
  }
  return at + length;
}

bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

size_t CountCharacters(std::string_view text) {
  if (IsAscii(text)) return text.size();
  size_t count = 0;
  for (size_t at = 0; at < text.size(); at = NextCharacter(text, at)) ++count;
  return count;
}

size_t OffsetOfCharacter(std::string_view text, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < text.size(); --index) at = NextCharacter(text, at);
  return at;
}

char32_t CodePointAt(std::string_view text, size_t at) {
  const size_t length = NextCharacter(text, at) - at;
  const auto lead = static_cast<unsigned char>(text[at]);
  if (length == 1) return lead;
  char32_t code_point = lead & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    code_point = (code_point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  }
  return code_point;
}

void AppendUtf8(char32_t code_point, std::string& out) {
  const auto byte = [&](uint32_t value) { out += static_cast<char>(value); };
  if (code_point < 0x80) {
    byte(code_point);
  } else if (code_point < 0x800) {
    byte(0xC0 | (code_point >> 6));
    byte(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    byte(0xE0 | (code_point >> 12));
    byte(0x80 | ((code_point >> 6) & 0x3F));
    byte(0x80 | (code_point & 0x3F));
  } else {
    byte(0xF0 | (code_point >> 18));
    byte(0x80 | ((code_point >> 12) & 0x3F));
    byte(0x80 | ((code_point >> 6) & 0x3F));
    byte(0x80 | (code_point & 0x3F));
  }
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size()) {
    const size_t next = NextCharacter(text, at);
    const bool is_invalid = next == at + 1 && static_cast<signed char>(text[at]) < 0;
    if (is_invalid || !IsSpace(CodePointAt(text, at))) break;
    at = next;
  }
  return at;
}

size_t EndWithoutSpace(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = end - 1;  // the start of the last character
    for (size_t back = 1; back <= 4 && back <= end; ++back) {
      if (NextCharacter(text.substr(0, end), end - back) == end) begin = end - back;
    }
    const bool is_invalid = begin == end - 1 && static_cast<signed char>(text[begin]) < 0;
    if (is_invalid || !IsSpace(CodePointAt(text, begin))) break;
    end = begin;
  }
  return end;
}

}  // namespace weir::jinja
