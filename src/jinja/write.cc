#include "jinja/write.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::jinja {

std::string FormatDouble(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // Shortest digits that read back the same, as d.ddde+xx.
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string scientific(buffer, end);
  const size_t exponent_at = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + exponent_at + 1);
  if (exponent < -4 || exponent >= 16) return scientific;
  const auto fixed_end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed).ptr;
  std::string fixed(buffer, fixed_end);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

namespace {

std::string FormatScalar(const Value& value) {
  if (value.is_none()) return "None";
  if (const bool* flag = value.As<bool>()) return *flag ? "True" : "False";
  if (const auto* integer = value.As<int64_t>()) return fmt::format("{}", *integer);
  if (const auto* large = value.As<uint64_t>()) return fmt::format("{}", *large);
  if (const auto* real = value.As<double>()) return FormatDouble(*real);
  return {};
}

// What Python's repr escapes: controls, and separators other than the space.
bool IsPrintable(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA1) || c == 0xAD) return false;
  if (c >= 0xD800 && c <= 0xF8FF) return false;
  return !(IsSpace(c) && c != 0x20) && c != 0xFEFF && !(c >= 0x200B && c <= 0x200F) &&
         !(c >= 0x202A && c <= 0x202E) && !(c >= 0x2060 && c <= 0x206F);
}

std::string QuotedText(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0; at < text.size();) {
    const size_t next = NextCharacter(text, at);
    const char32_t c = CodePointAt(text, at);
    if (c == static_cast<unsigned char>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : (c == '\r' ? "\\r" : "\\t");
    } else if (IsPrintable(c)) {
      out += text.substr(at, next - at);
    } else if (c < 0x100) {
      out += fmt::format("\\x{:02x}", static_cast<uint32_t>(c));
    } else {
      out += c < 0x10000 ? fmt::format("\\u{:04x}", static_cast<uint32_t>(c))
                         : fmt::format("\\U{:08x}", static_cast<uint32_t>(c));
    }
    at = next;
  }
  out += quote;
  return out;
}

Result<void> AppendReprList(Meter& meter, const List& list, Text& out) {
  if (list.kind == ListKind::kRange || list.kind == ListKind::kIterator) {
    return TemplateError("ranges and iterators cannot be printed; use the filter 'list'");
  }
  const bool is_tuple = list.kind == ListKind::kTuple;
  const bool is_view = list.kind == ListKind::kView;
  out.Append(is_view ? "dict_items([" : (is_tuple ? "(" : "["), Origin::kTemplate);
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out.Append(", ", Origin::kTemplate);
    WEIR_TRY(AppendRepr(meter, list.items[i], out));
  }
  if (is_tuple && list.items.size() == 1) out.Append(",", Origin::kTemplate);
  out.Append(is_view ? "])" : (is_tuple ? ")" : "]"), Origin::kTemplate);
  return {};
}

Result<void> AppendReprDict(Meter& meter, const Dict& dict, Text& out) {
  out.Append("{", Origin::kTemplate);
  bool is_first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!is_first) out.Append(", ", Origin::kTemplate);
    is_first = false;
    WEIR_TRY(AppendRepr(meter, key, out));
    out.Append(": ", Origin::kTemplate);
    WEIR_TRY(AppendRepr(meter, value, out));
  }
  out.Append("}", Origin::kTemplate);
  return {};
}

Result<void> CheckOutput(Meter& meter, const Text& out) {
  if (out.byte_count() > meter.limits().output_bytes) {
    return TemplateError(
        fmt::format("a string grows beyond {} bytes", meter.limits().output_bytes));
  }
  return meter.Step();
}

}  // namespace

Result<void> AppendRepr(Meter& meter, const Value& value, Text& out) {
  WEIR_TRY(CheckOutput(meter, out));
  if (const Text* text = value.text()) {
    WEIR_TRY(meter.Scan(text->byte_count()));
    out.Append(QuotedText(text->view()), text->WorstOrigin());
    return {};
  }
  if (const List* list = value.list()) return AppendReprList(meter, *list, out);
  if (const Dict* dict = value.dict()) return AppendReprDict(meter, *dict, out);
  if (value.is_undefined()) {
    out.Append("Undefined", Origin::kTemplate);
    return {};
  }
  const std::string scalar = FormatScalar(value);
  if (scalar.empty()) {
    return TemplateError(fmt::format("a '{}' cannot be printed", value.type_name()));
  }
  out.Append(scalar, Origin::kTemplate);
  return {};
}

Result<Text> ToText(Meter& meter, const Value& value) {
  if (const Text* text = value.text()) {
    WEIR_TRY(meter.Scan(text->byte_count()));
    return *text;
  }
  Text out;
  if (!value.is_undefined()) WEIR_TRY(AppendRepr(meter, value, out));
  return out;
}

namespace {

std::string JsonEscaped(std::string_view text, bool ascii_only) {
  std::string out = "\"";
  const auto append_unit = [&](uint32_t unit) { out += fmt::format("\\u{:04x}", unit); };
  for (size_t at = 0; at < text.size();) {
    const size_t next = NextCharacter(text, at);
    const char32_t c = CodePointAt(text, at);
    static constexpr std::string_view kPlain = "\"\\\n\r\t\f\b";
    static constexpr std::string_view kEscapes = "\"\\nrtfb";
    const size_t special = c < 0x80 ? kPlain.find(static_cast<char>(c)) : std::string_view::npos;
    if (special != std::string_view::npos) {
      out += '\\';
      out += kEscapes[special];
    } else if (c < 0x20 || (ascii_only && c > 0x7E && c < 0x10000)) {
      append_unit(c);
    } else if (ascii_only && c >= 0x10000) {
      append_unit(0xD800 + ((c - 0x10000) >> 10));
      append_unit(0xDC00 + ((c - 0x10000) & 0x3FF));
    } else {
      out += text.substr(at, next - at);
    }
    at = next;
  }
  out += '"';
  return out;
}

// Writes one value after another; `level` counts the open brackets.
class JsonWriter {
 public:
  JsonWriter(Meter& meter, const JsonStyle& style, Text& out)
      : meter_(meter), style_(style), out_(out) {}

  Result<void> Write(const Value& value) {
    WEIR_TRY(CheckOutput(meter_, out_));
    if (const Text* text = value.text()) {
      WEIR_TRY(meter_.Scan(text->byte_count()));
      out_.Append(JsonEscaped(text->view(), style_.ascii_only), text->WorstOrigin());
      return {};
    }
    if (const Dict* dict = value.dict()) return WriteDict(*dict);
    const List* list = value.list();
    if (list != nullptr && list->kind <= ListKind::kTuple) return WriteList(*list);
    if (!value.is_number() && !value.is_none()) {
      return TemplateError(fmt::format("a '{}' has no JSON form", value.type_name()));
    }
    Plain(Scalar(value));
    return {};
  }

 private:
  static std::string Scalar(const Value& value) {
    if (value.is_none()) return "null";
    if (const bool* flag = value.As<bool>()) return *flag ? "true" : "false";
    const auto* real = value.As<double>();
    if (real == nullptr || std::isfinite(*real)) return FormatScalar(value);
    return std::isnan(*real) ? "NaN" : (*real < 0 ? "-Infinity" : "Infinity");
  }

  Result<void> WriteList(const List& list) {
    if (list.items.empty()) {
      Plain("[]");
      return {};
    }
    Plain("[");
    ++level_;
    for (size_t i = 0; i < list.items.size(); ++i) {
      Separate(i == 0);
      WEIR_TRY(Write(list.items[i]));
    }
    return Close("]");
  }

  Result<void> WriteDict(const Dict& dict) {
    if (dict.entries().empty()) {
      Plain("{}");
      return {};
    }
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& entry : dict.entries()) order.push_back(&entry);
    if (style_.sort_keys) WEIR_TRY(SortByKey(order));
    Plain("{");
    ++level_;
    for (size_t i = 0; i < order.size(); ++i) {
      Separate(i == 0);
      WEIR_TRY(WriteKey(order[i]->first));
      Plain(style_.key_separator);
      WEIR_TRY(Write(order[i]->second));
    }
    return Close("}");
  }

  Result<void> SortByKey(std::vector<const std::pair<Value, Value>*>& order) {
    for (const auto* entry : order) {
      if (entry->first.text() == nullptr) return TemplateError("sort_keys needs string keys");
    }
    WEIR_TRY(meter_.Step(order.size() * 8));
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->first.text()->view() < b->first.text()->view();
    });
    return {};
  }

  Result<void> WriteKey(const Value& key) {
    if (key.text() != nullptr) return Write(key);
    if (!key.is_number() && !key.is_none()) return TemplateError("a JSON key must be a string");
    Plain(fmt::format("\"{}\"", Scalar(key)));
    return {};
  }

  void Separate(bool is_first) {
    if (!is_first) Plain(style_.item_separator);
    NewLine();
  }
  Result<void> Close(std::string_view bracket) {
    --level_;
    NewLine();
    Plain(bracket);
    return meter_.Step();
  }
  void NewLine() {
    if (!style_.indent) return;
    Plain("\n");
    for (size_t i = 0; i < level_; ++i) Plain(*style_.indent);
  }
  void Plain(std::string_view text) { out_.Append(text, Origin::kTemplate); }

  Meter& meter_;
  const JsonStyle& style_;
  Text& out_;
  size_t level_ = 0;
};

}  // namespace

Result<void> AppendJson(Meter& meter, const Value& value, const JsonStyle& style, Text& out) {
  return JsonWriter(meter, style, out).Write(value);
}

}  // namespace weir::jinja
