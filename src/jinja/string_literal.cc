#include "jinja/string_literal.h"

#include <charconv>

#include "jinja/text.h"

namespace weir::jinja {

namespace {

// Appends the character whose hexadecimal digits `text` begins with.
Result<void> AppendHex(std::string_view text, size_t digit_count, std::string& out) {
  const std::string_view digits = text.substr(0, digit_count);
  uint32_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() < digit_count || parsed.ptr != digits.data() + digit_count ||
      value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("bad escape with digits '{}'", digits));
  }
  AppendUtf8(value, out);
  return {};
}

size_t AppendOctal(std::string_view digits, std::string& out) {
  char32_t value = 0;
  size_t count = 0;
  for (; count < 3 && count < digits.size() && digits[count] >= '0' && digits[count] <= '7';
       ++count) {
    value = value * 8 + static_cast<char32_t>(digits[count] - '0');
  }
  AppendUtf8(value, out);
  return count;
}

}  // namespace

Result<std::string> UnescapeString(std::string_view text) {
  static constexpr std::string_view kEscapes = "\\'\"abfnrtv";
  static constexpr std::string_view kValues = "\\'\"\a\b\f\n\r\t\v";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 >= text.size()) {
      out += text[at++];
      continue;
    }
    const char kind = text[at + 1];
    const size_t known = kEscapes.find(kind);
    at += 2;
    if (known != std::string_view::npos) {
      out += kValues[known];
    } else if (kind == 'x' || kind == 'u' || kind == 'U') {
      const size_t digit_count = kind == 'x' ? 2 : (kind == 'u' ? 4 : 8);
      WEIR_TRY(AppendHex(text.substr(at), digit_count, out));
      at += digit_count;
    } else if (kind >= '0' && kind <= '7') {
      at += AppendOctal(text.substr(at - 1), out) - 1;
    } else if (kind == 'N') {
      return Fail(ErrorCode::kInvalidArgument, "unsupported escape '\\N'");
    } else if (kind != '\n') {
      out += '\\';
      out += kind;
    }
  }
  return out;
}

}  // namespace weir::jinja
