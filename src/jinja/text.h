// A string of the template engine: UTF-8 bytes, and which of them a user wrote.
//
// User ranges follow the bytes through concatenation and slicing, so that control tokens can later
// be told from look-alikes in user content. An operation that cannot follow them marks its whole
// result as the user's if any part was.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::jinja {

enum class Origin : uint8_t { kTemplate, kUser };

class Text {
 public:
  struct Range {  // of bytes, [begin, end)
    uint32_t begin;
    uint32_t end;
  };

  Text() = default;
  explicit Text(std::string bytes, Origin origin = Origin::kTemplate);

  void Append(std::string_view bytes, Origin origin);
  void Append(const Text& other) { AppendSlice(other, 0, other.byte_count()); }
  // Bytes [begin, end) of `other`.
  void AppendSlice(const Text& other, size_t begin, size_t end);
  [[nodiscard]] Text Slice(size_t begin, size_t end) const;

  [[nodiscard]] std::string_view view() const { return bytes_; }
  [[nodiscard]] size_t byte_count() const { return bytes_.size(); }
  // Sorted, disjoint, not touching.
  [[nodiscard]] const std::vector<Range>& user_ranges() const { return user_ranges_; }
  // kUser if any byte is.
  [[nodiscard]] Origin WorstOrigin() const;
  // What one copy costs, in bytes.
  [[nodiscard]] uint64_t Footprint() const;

  // Marked by |safe and |escape: joining it with plain text escapes the plain text.
  bool is_markup = false;

 private:
  std::string bytes_;
  std::vector<Range> user_ranges_;
};

// Characters are code points, as in Python; an invalid byte counts as one character.
[[nodiscard]] size_t NextCharacter(std::string_view text, size_t at);
[[nodiscard]] size_t CountCharacters(std::string_view text);
// The byte offset of character `index`, or the end.
[[nodiscard]] size_t OffsetOfCharacter(std::string_view text, size_t index);
[[nodiscard]] bool IsAscii(std::string_view text);
// The code point of the character [at, NextCharacter(at)); an invalid byte is its own value.
[[nodiscard]] char32_t CodePointAt(std::string_view text, size_t at);
void AppendUtf8(char32_t code_point, std::string& out);
// What str.strip() and str.split() of Python call whitespace.
[[nodiscard]] bool IsSpace(char32_t code_point);
// The offset of the first byte that is not leading whitespace, and the end before trailing.
[[nodiscard]] size_t SkipSpace(std::string_view text, size_t at);
[[nodiscard]] size_t EndWithoutSpace(std::string_view text);

}  // namespace weir::jinja
