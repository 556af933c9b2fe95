#include "jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "jinja/string_literal.h"
#include "jinja/text.h"

namespace weir::jinja {

tl::unexpected<Error> SyntaxError(uint32_t line, std::string_view what) {
  return Fail(ErrorCode::kInvalidArgument, fmt::format("template line {}: {}", line, what));
}

namespace {

constexpr size_t kMaxNameBytes = 200;
constexpr size_t kNone = std::string_view::npos;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_' ||
         static_cast<signed char>(c) < 0;
}

// "\r\n" and "\r" become "\n"; one newline at the end goes.
std::string NormalizeNewlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : storage_(std::move(source)), source_(storage_) {}

  Result<std::vector<Token>> Run() {
    while (at_ < source_.size()) {
      const size_t tag = FindTag();
      if (tag == kNone) {
        AddData(source_.substr(at_));
        break;
      }
      WEIR_TRY(ReadTag(tag));
    }
    tokens_.push_back({TokenType::kEnd, line_, {}});
    return std::move(tokens_);
  }

 private:
  // The offset of the next "{{", "{%" or "{#".
  [[nodiscard]] size_t FindTag() const {
    for (size_t at = source_.find('{', at_); at != kNone; at = source_.find('{', at + 1)) {
      const char kind = at + 1 < source_.size() ? source_[at + 1] : '\0';
      if (kind == '{' || kind == '%' || kind == '#') return at;
    }
    return kNone;
  }

  Result<void> ReadTag(size_t tag) {
    const char kind = source_[tag + 1];
    const char sign = Sign(tag + 2);
    AddData(WithoutIndent(source_.substr(at_, tag - at_), sign, kind != '{'));
    MoveTo(tag);
    const uint32_t begin_line = line_;
    const size_t content = tag + (sign == '\0' ? 2 : 3);
    if (kind == '#') return SkipComment(content);
    size_t raw_end = kNone;
    if (kind == '%') raw_end = MatchRawTag(content, "raw");
    if (raw_end != kNone) return ReadRaw(raw_end);
    MoveTo(content);
    const bool is_block = kind == '%';
    tokens_.push_back(
        {is_block ? TokenType::kBlockBegin : TokenType::kVariableBegin, begin_line, {}});
    return ReadExpression(is_block);
  }

  [[nodiscard]] char Sign(size_t at) const {
    const char c = at < source_.size() ? source_[at] : '\0';
    return c == '-' || c == '+' ? c : '\0';
  }

  // The text before a tag, as its sign and lstrip_blocks leave it.
  [[nodiscard]] std::string_view WithoutIndent(std::string_view text, char sign,
                                               bool is_lstripped) const {
    if (sign == '-') return text.substr(0, EndWithoutSpace(text));
    if (sign == '+' || !is_lstripped) return text;
    const size_t newline = text.rfind('\n');
    if (newline == kNone && !line_starts_) return text;
    const size_t indent = newline == kNone ? 0 : newline + 1;
    return SkipSpace(text, indent) == text.size() ? text.substr(0, indent) : text;
  }

  void AddData(std::string_view text) {
    if (text.empty()) return;
    tokens_.push_back({TokenType::kData, line_, std::string(text)});
  }

  void MoveTo(size_t at) {
    line_ += static_cast<uint32_t>(std::count(source_.begin() + static_cast<ptrdiff_t>(at_),
                                              source_.begin() + static_cast<ptrdiff_t>(at), '\n'));
    at_ = at;
  }

  // Behind a tag's end: "-" eats white space, a block's plain end eats one newline.
  void LeaveTag(size_t at, char sign, bool trims_newline) {
    if (sign == '-') {
      at = SkipSpace(source_, at);
    } else if (sign == '\0' && trims_newline && at < source_.size() && source_[at] == '\n') {
      ++at;
    }
    line_starts_ = source_[at - 1] == '\n';
    MoveTo(at);
  }

  Result<void> SkipComment(size_t content) {
    const size_t end = source_.find("#}", content);
    if (end == kNone) return SyntaxError(line_, "comment without an end");
    LeaveTag(end + 2, end > content ? Sign(end - 1) : '\0', true);
    return {};
  }

  // Behind "{% raw %}" or before "%}" of "{% endraw": kNone if `content` is not that word.
  [[nodiscard]] size_t MatchRawTag(size_t content, std::string_view word) const {
    size_t at = SkipSpace(source_, content);
    if (source_.substr(at, word.size()) != word) return kNone;
    at = SkipSpace(source_, at + word.size());
    if (word == "endraw") return at;
    const bool strips = source_.substr(at, 3) == "-%}";
    if (strips) return SkipSpace(source_, at + 3);
    return source_.substr(at, 2) == "%}" ? at + 2 : kNone;
  }

  Result<void> ReadRaw(size_t content) {
    MoveTo(content);
    line_starts_ = source_[content - 1] == '\n';
    for (size_t tag = source_.find("{%", content); tag != kNone;
         tag = source_.find("{%", tag + 1)) {
      const char sign = Sign(tag + 2);
      const size_t end = MatchRawTag(tag + (sign == '\0' ? 2 : 3), "endraw");
      if (end == kNone) continue;
      const char end_sign = Sign(end);
      const size_t close = end_sign == '\0' ? end : end + 1;
      if (source_.substr(close, 2) != "%}") continue;
      AddData(WithoutIndent(source_.substr(content, tag - content), sign, true));
      LeaveTag(close + 2, end_sign, true);
      return {};
    }
    return SyntaxError(line_, "'raw' without 'endraw'");
  }

  // The tokens of one tag, its end included.
  Result<void> ReadExpression(bool is_block) {
    const std::string_view close = is_block ? "%}" : "}}";
    std::string open;  // brackets
    while (true) {
      if (open.empty() && TryEnd(is_block, close)) return {};
      if (at_ >= source_.size()) return SyntaxError(line_, "tag without an end");
      const size_t next = SkipSpace(source_, at_);
      if (next != at_) {
        MoveTo(next);
        continue;
      }
      const char c = source_[at_];
      if (IsDigit(c)) {
        WEIR_TRY(ReadNumber());
      } else if (IsNameByte(c)) {
        WEIR_TRY(ReadName());
      } else if (c == '\'' || c == '"') {
        WEIR_TRY(ReadString());
      } else {
        WEIR_TRY(ReadOperator(open));
      }
    }
  }

  bool TryEnd(bool is_block, std::string_view close) {
    const char c = Sign(at_);
    const char sign = c == '-' || (c == '+' && is_block) ? c : '\0';
    const size_t at = at_ + (sign == '\0' ? 0 : 1);
    if (source_.substr(at, 2) != close) return false;
    tokens_.push_back({is_block ? TokenType::kBlockEnd : TokenType::kVariableEnd, line_, {}});
    LeaveTag(at + 2, sign, is_block);
    return true;
  }

  Result<void> ReadName() {
    size_t end = at_;
    while (end < source_.size() && IsNameByte(source_[end])) ++end;
    if (end - at_ > kMaxNameBytes) {
      return SyntaxError(line_, fmt::format("name longer than {} bytes", kMaxNameBytes));
    }
    tokens_.push_back({TokenType::kName, line_, std::string(source_.substr(at_, end - at_))});
    at_ = end;
    return {};
  }

  [[nodiscard]] size_t SkipDigits(size_t at, int base) const {
    const auto is_digit = [&](char c) {
      if (base == 16 && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))) return true;
      return c >= '0' && c <= '9' && c - '0' < base;
    };
    while (at < source_.size()) {
      if (is_digit(source_[at])) {
        ++at;
      } else if (source_[at] == '_' && at + 1 < source_.size() && is_digit(source_[at + 1])) {
        at += 2;
      } else {
        break;
      }
    }
    return at;
  }

  // The end of a float that starts here, or kNone.
  [[nodiscard]] size_t MatchFloat() const {
    if (at_ > 0 && source_[at_ - 1] == '.') return kNone;
    size_t end = SkipDigits(at_, 10);
    bool is_float = false;
    if (end + 1 < source_.size() && source_[end] == '.' && IsDigit(source_[end + 1])) {
      end = SkipDigits(end + 1, 10);
      is_float = true;
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      const size_t digits = end + (Sign(end + 1) == '\0' ? 1 : 2);
      if (digits < source_.size() && IsDigit(source_[digits])) return SkipDigits(digits, 10);
    }
    return is_float ? end : kNone;
  }

  Result<void> ReadNumber() {
    const size_t float_end = MatchFloat();
    const char prefix = at_ + 1 < source_.size() && source_[at_] == '0' ? source_[at_ + 1] : '\0';
    const int base = float_end != kNone               ? 10
                     : prefix == 'x' || prefix == 'X' ? 16
                     : prefix == 'o' || prefix == 'O' ? 8
                     : prefix == 'b' || prefix == 'B' ? 2
                                                      : 10;
    const size_t begin = base == 10 ? at_ : at_ + 2;
    const size_t end = float_end != kNone ? float_end : SkipDigits(begin, base);
    std::string digits(source_.substr(begin, end - begin));
    digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    Token token{float_end != kNone ? TokenType::kFloat : TokenType::kInteger, line_, {}};
    if (float_end != kNone) {
      token.real = std::strtod(digits.c_str(), nullptr);
    } else {
      const char* last = digits.data() + digits.size();
      const auto parsed = std::from_chars(digits.data(), last, token.integer, base);
      if (parsed.ec != std::errc() || parsed.ptr != last) {
        return SyntaxError(line_, fmt::format("unsupported integer '{}'", digits.substr(0, 40)));
      }
    }
    tokens_.push_back(std::move(token));
    at_ = end;
    return {};
  }

  Result<void> ReadString() {
    const char quote = source_[at_];
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) return SyntaxError(line_, "string without an end");
    auto value = UnescapeString(source_.substr(at_ + 1, end - at_ - 1));
    if (!value) return SyntaxError(line_, value.error().message);
    tokens_.push_back({TokenType::kString, line_, std::move(*value)});
    MoveTo(end + 1);
    return {};
  }

  Result<void> ReadOperator(std::string& open) {
    static constexpr std::array<std::string_view, 25> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    const std::string_view rest = source_.substr(at_);
    const auto* op = std::find_if(kOperators.begin(), kOperators.end(),
                                  [&](std::string_view text) { return rest.starts_with(text); });
    if (op == kOperators.end()) {
      return SyntaxError(
          line_, fmt::format("unexpected character '{}'", rest.substr(0, NextCharacter(rest, 0))));
    }
    if (*op == "(" || *op == "[" || *op == "{") {
      open += *op == "(" ? ')' : (*op == "[" ? ']' : '}');
    } else if (*op == ")" || *op == "]" || *op == "}") {
      if (open.empty() || open.back() != (*op)[0]) {
        return SyntaxError(line_, fmt::format("unexpected '{}'", *op));
      }
      open.pop_back();
    }
    tokens_.push_back({TokenType::kOperator, line_, std::string(*op)});
    at_ += op->size();
    return {};
  }

  const std::string storage_;
  const std::string_view source_;
  size_t at_ = 0;
  uint32_t line_ = 1;
  bool line_starts_ = true;  // only a newline, or nothing, lies before at_
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Tokenize(std::string_view source) {
  return Lexer(NormalizeNewlines(source)).Run();
}

}  // namespace weir::jinja
