#include "jinja/format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "jinja/write.h"

namespace weir::jinja {

namespace {

constexpr int64_t kMaxWidth = 10'000;

// One field: how wide, how exact, as what.
struct FieldStyle {
  char fill = ' ';
  char align = '\0';  // < > ^
  bool has_plus = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 's';  // s r d f x X
};

Result<int64_t> ReadNumber(std::string_view& text, int64_t absent) {
  int64_t number = absent;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ptr == text.data()) return absent;
  text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
  if (parsed.ec != std::errc() || number > kMaxWidth) {
    return TemplateError(fmt::format("a format is wider than {}", kMaxWidth));
  }
  return number;
}

Result<Text> NumberField(const Value& value, const FieldStyle& style) {
  std::string out;
  if (style.type == 'f') {
    if (!value.is_number()) return TemplateError("format 'f' needs a number");
    const int64_t precision = style.precision < 0 ? 6 : std::min<int64_t>(style.precision, 100);
    out = fmt::format("{:.{}f}", ToDouble(value), precision);
  } else {
    int64_t integer = 0;
    if (const auto* real = value.As<double>(); real != nullptr && std::abs(*real) < 9e18) {
      integer = static_cast<int64_t>(*real);
    } else {
      integer = WEIR_TRY(ToInteger(value, "a formatted number"));
    }
    if (style.type == 'd') {
      out = fmt::format("{}", integer);
    } else {
      out = style.type == 'x' ? fmt::format("{:x}", integer) : fmt::format("{:X}", integer);
    }
  }
  if (style.has_plus && out[0] != '-') out.insert(out.begin(), '+');
  return Text(std::move(out));
}

// Zeros go between sign and digits.
Text Padded(const Text& text, const FieldStyle& style) {
  const size_t count = CountCharacters(text.view());
  const auto width = static_cast<size_t>(style.width);
  if (count >= width) return text;
  const size_t missing = width - count;
  const size_t left = style.align == '<' ? 0 : (style.align == '^' ? missing / 2 : missing);
  const bool has_sign = style.fill == '0' && style.align == '>' && text.byte_count() > 0 &&
                        (text.view()[0] == '-' || text.view()[0] == '+');
  Text out;
  if (has_sign) out.AppendSlice(text, 0, 1);
  out.Append(std::string(left, style.fill), Origin::kTemplate);
  out.AppendSlice(text, has_sign ? 1 : 0, text.byte_count());
  out.Append(std::string(missing - left, style.fill), Origin::kTemplate);
  return out;
}

Result<void> AppendField(Meter& meter, const Value& value, FieldStyle style, Text& out) {
  Text field;
  if (style.type == 's') {
    field = WEIR_TRY(ToText(meter, value));
  } else if (style.type == 'r') {
    WEIR_TRY(AppendRepr(meter, value, field));
  } else {
    field = WEIR_TRY(NumberField(value, style));
  }
  const bool is_text = style.type == 's' || style.type == 'r';
  if (is_text && style.precision >= 0) {
    field = field.Slice(0, OffsetOfCharacter(field.view(), static_cast<size_t>(style.precision)));
  }
  if (style.align == '\0') style.align = is_text ? '<' : '>';
  WEIR_TRY(meter.Allocate(field.Footprint() + static_cast<uint64_t>(style.width)));
  out.Append(Padded(field, style));
  return {};
}

// Hands out the values of a "%" expression.
class PercentValues {
 public:
  explicit PercentValues(const Value& values) : values_(values) {
    const List* list = values.list();
    tuple_ = list != nullptr && list->kind == ListKind::kTuple ? list : nullptr;
  }
  Result<Value> Next() {
    const size_t count = tuple_ == nullptr ? 1 : tuple_->items.size();
    if (used_ >= count) return TemplateError("too few values for '%'");
    ++used_;
    return tuple_ == nullptr ? values_ : tuple_->items[used_ - 1];
  }
  Result<Value> Named(std::string_view name) {
    const Value* found = values_.dict() == nullptr ? nullptr : values_.dict()->Find(name);
    if (found == nullptr) return TemplateError(fmt::format("'%' finds no '{}'", name));
    return *found;
  }
  [[nodiscard]] bool AreAllUsed() const {
    if (values_.dict() != nullptr) return true;
    return used_ == (tuple_ == nullptr ? 1 : tuple_->items.size());
  }

 private:
  const Value& values_;
  const List* tuple_;
  size_t used_ = 0;
};

// Behind '%': flags, width, precision and type, removed from `text`.
Result<FieldStyle> ReadPercentStyle(std::string_view& text) {
  FieldStyle style;
  style.align = '>';
  for (; !text.empty() && std::string_view("-0+ ").find(text[0]) != std::string_view::npos;
       text.remove_prefix(1)) {
    if (text[0] == '-') style.align = '<';
    if (text[0] == '0') style.fill = '0';
    if (text[0] == '+') style.has_plus = true;
  }
  style.width = WEIR_TRY(ReadNumber(text, 0));
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    style.precision = WEIR_TRY(ReadNumber(text, 0));
  }
  style.type = text.empty() ? '?' : text[0];
  if (style.type == 'i' || style.type == 'u') style.type = 'd';
  if (std::string_view("srdfxX").find(style.type) == std::string_view::npos) {
    return TemplateError(fmt::format("unsupported format '%{}'", style.type));
  }
  text.remove_prefix(1);
  if (style.type == 's' || style.type == 'r' || style.align == '<') style.fill = ' ';
  return style;
}

}  // namespace

Result<Value> FormatPercent(Meter& meter, const Text& format, const Value& values) {
  PercentValues source(values);
  const std::string_view view = format.view();
  WEIR_TRY(meter.Allocate(format.Footprint()));
  Text out;
  for (size_t at = 0; at < view.size();) {
    const size_t percent = std::min(view.find('%', at), view.size());
    out.AppendSlice(format, at, percent);
    if (percent == view.size()) break;
    std::string_view rest = view.substr(percent + 1);
    if (rest.starts_with('%')) {
      out.AppendSlice(format, percent, percent + 1);
      at = percent + 2;
      continue;
    }
    std::string_view name;
    const bool is_named = rest.starts_with('(');
    if (is_named) {
      const size_t close = rest.find(')');
      if (close == std::string_view::npos) return TemplateError("'%(' without ')'");
      name = rest.substr(1, close - 1);
      rest.remove_prefix(close + 1);
    }
    const FieldStyle style = WEIR_TRY(ReadPercentStyle(rest));
    const Value value = WEIR_TRY(is_named ? source.Named(name) : source.Next());
    WEIR_TRY(AppendField(meter, value, style, out));
    at = view.size() - rest.size();
  }
  if (!source.AreAllUsed()) return TemplateError("too many values for '%'");
  return MakeText(meter, std::move(out));
}

namespace {

// Behind ':' in braces: [[fill]align][+][0][width][.precision][type].
Result<FieldStyle> ReadBraceStyle(std::string_view spec) {
  FieldStyle style;
  const std::string_view whole = spec;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^'; };
  if (spec.size() > 1 && is_align(spec[1])) {
    style.fill = spec[0];
    style.align = spec[1];
    spec.remove_prefix(2);
  } else if (!spec.empty() && is_align(spec[0])) {
    style.align = spec[0];
    spec.remove_prefix(1);
  }
  if (spec.starts_with('+')) {
    style.has_plus = true;
    spec.remove_prefix(1);
  }
  if (spec.starts_with('0')) {
    style.fill = '0';
    if (style.align == '\0') style.align = '>';
  }
  style.width = WEIR_TRY(ReadNumber(spec, 0));
  if (spec.starts_with('.')) {
    spec.remove_prefix(1);
    style.precision = WEIR_TRY(ReadNumber(spec, -1));
  }
  if (!spec.empty()) {
    style.type = spec[0];
    spec.remove_prefix(1);
  }
  if (!spec.empty() || std::string_view("sdfxX").find(style.type) == std::string_view::npos ||
      static_cast<signed char>(style.fill) < 0) {
    return TemplateError(fmt::format("unsupported format '{{:{}}}'", whole));
  }
  return style;
}

Result<Value> BraceValue(const Arguments& arguments, std::string_view name, size_t& automatic) {
  size_t index = 0;
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_index =
      !name.empty() && parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
  if (name.empty() || is_index) {
    if (name.empty()) index = automatic++;
    if (index >= arguments.positional.size()) return TemplateError("too few values for 'format'");
    return arguments.positional[index];
  }
  for (const auto& [given, value] : arguments.named) {
    if (given == name) return value;
  }
  return TemplateError(fmt::format("'format' finds no '{}'", name));
}

// "{name!r:spec}" without the braces.
Result<void> AppendBraceField(Meter& meter, const Arguments& arguments, std::string_view field,
                              size_t& automatic, Text& out) {
  const size_t colon = std::min(field.find(':'), field.size());
  std::string_view name = field.substr(0, colon);
  const std::string_view spec = colon < field.size() ? field.substr(colon + 1) : std::string_view();
  const bool is_repr = name.ends_with("!r");
  if (is_repr || name.ends_with("!s")) name.remove_suffix(2);
  const Value value = WEIR_TRY(BraceValue(arguments, name, automatic));
  FieldStyle style = WEIR_TRY(ReadBraceStyle(spec));
  if (is_repr) style.type = 'r';
  const bool is_plain_number = style.type == 's' && value.is_number() && !spec.empty();
  if (is_plain_number) {
    if (value.As<int64_t>() == nullptr) {
      return TemplateError(fmt::format("unsupported format '{{:{}}}' of a number", spec));
    }
    style.type = 'd';
  }
  return AppendField(meter, value, style, out);
}

}  // namespace

Result<Value> FormatBraces(Meter& meter, const Text& format, const Arguments& arguments) {
  const std::string_view view = format.view();
  WEIR_TRY(meter.Allocate(format.Footprint()));
  Text out;
  size_t automatic = 0;
  for (size_t at = 0; at < view.size();) {
    const size_t brace = std::min(view.find_first_of("{}", at), view.size());
    out.AppendSlice(format, at, brace);
    if (brace == view.size()) break;
    if (brace + 1 < view.size() && view[brace + 1] == view[brace]) {
      out.AppendSlice(format, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const size_t close = view.find('}', brace);
    if (view[brace] == '}' || close == std::string_view::npos) {
      return TemplateError("a single brace in a 'format' string");
    }
    WEIR_TRY(AppendBraceField(meter, arguments, view.substr(brace + 1, close - brace - 1),
                              automatic, out));
    at = close + 1;
  }
  return MakeText(meter, std::move(out));
}

}  // namespace weir::jinja
