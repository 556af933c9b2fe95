#include "text/utf8_stream.h"

#include <cstddef>
#include <cstdint>

#include "text/utf8.h"

namespace weir {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Appends `bytes` with invalid parts replaced and returns how many were taken: all of them but for
// an unfinished character at the end.
size_t AppendWholeCharacters(std::string_view bytes, std::string& text) {
  size_t at = 0;
  size_t valid_begin = 0;
  while (at < bytes.size()) {
    if (static_cast<uint8_t>(bytes[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Part part = FirstUtf8Part(bytes.substr(at));
    if (part.state == Utf8State::kCharacter) {
      at += part.byte_count;
      continue;
    }
    text.append(bytes.substr(valid_begin, at - valid_begin));
    if (part.state == Utf8State::kUnfinished) return at;
    text.append(kReplacement);
    at += part.byte_count;
    valid_begin = at;
  }
  text.append(bytes.substr(valid_begin));
  return at;
}

}  // namespace

Utf8Part FirstUtf8Part(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {Utf8State::kCharacter, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Utf8State::kInvalid, 1};
  const uint32_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF.
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (uint32_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Utf8State::kUnfinished, i};
    const bool fits = i == 1 ? byte(1) >= low && byte(1) <= high : (byte(i) & 0xC0) == 0x80;
    if (!fits) return {Utf8State::kInvalid, i};
  }
  return {Utf8State::kCharacter, length};
}

std::string Utf8Stream::Push(std::string_view bytes) {
  std::string text;
  if (held_.empty()) {
    held_.assign(bytes.substr(AppendWholeCharacters(bytes, text)));
  } else {
    held_.append(bytes);
    held_.erase(0, AppendWholeCharacters(held_, text));
  }
  return text;
}

std::string Utf8Stream::Finish() {
  std::string text(held_.empty() ? std::string_view() : kReplacement);
  held_.clear();
  return text;
}

bool IsValidUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Part part = FirstUtf8Part(text.substr(at));
    if (part.state != Utf8State::kCharacter) return false;
    at += part.byte_count;
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  Utf8Stream stream;
  std::string valid = stream.Push(text);
  valid += stream.Finish();
  return valid;
}

}  // namespace weir
