// Filters that make text, and numbers from text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "jinja/case.h"
#include "jinja/filter_table.h"
#include "jinja/format.h"
#include "jinja/operators.h"
#include "jinja/write.h"

namespace weir::jinja {

namespace {

Result<Value> ToTextValue(Meter& meter, const Value& value) {
  if (value.text() != nullptr) return value;
  return MakeText(meter, WEIR_TRY(ToText(meter, value)));
}

// The method of the same name, on the value as text.
Result<Value> AsMethod(Meter& meter, const Value& input, const Arguments& arguments,
                       std::string_view method) {
  const Value text = WEIR_TRY(ToTextValue(meter, input));
  return CallMethod(meter, text, method, arguments);
}

Result<Value> Trim(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "trim", {"chars"}));
  Arguments plain;
  if (bound[0] != nullptr) plain.positional.push_back(*bound[0]);
  return AsMethod(meter, input, plain, "strip");
}

Result<Value> Upper(Meter& meter, const Value& input, const Arguments& arguments) {
  return AsMethod(meter, input, arguments, "upper");
}

Result<Value> Lower(Meter& meter, const Value& input, const Arguments& arguments) {
  return AsMethod(meter, input, arguments, "lower");
}

Result<Value> CapitalizeFilter(Meter& meter, const Value& input, const Arguments& arguments) {
  return AsMethod(meter, input, arguments, "capitalize");
}

// Unlike str.title(), only white space and opening brackets begin a word.
Result<Value> Title(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "title", {}));
  const Text text = WEIR_TRY(ToText(meter, input));
  const std::string_view view = text.view();
  std::string out;
  bool begins_word = true;
  for (size_t at = 0; at < view.size();) {
    const size_t next = NextCharacter(view, at);
    const std::string_view character = view.substr(at, next - at);
    out += begins_word ? ToUpper(character) : ToLower(character);
    begins_word =
        IsSpace(CodePointAt(view, at)) ||
        (next == at + 1 && std::string_view("-({[<").find(view[at]) != std::string_view::npos);
    at = next;
  }
  return MakeText(meter, WithOrigin(std::move(out), text));
}

Result<Value> Replace(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "replace", {"old", "new", "count"}));
  if (bound[0] == nullptr || bound[1] == nullptr)
    return TemplateError("'replace' needs old and new");
  Arguments plain;
  for (size_t i = 0; i < 2; ++i) {
    plain.positional.push_back(WEIR_TRY(ToTextValue(meter, *bound[i])));
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) plain.positional.push_back(*bound[2]);
  return AsMethod(meter, input, plain, "replace");
}

Result<Value> String(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "string", {}));
  return MakeText(meter, WEIR_TRY(ToText(meter, input)));
}

Result<Value> Safe(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "safe", {}));
  Text text = WEIR_TRY(ToText(meter, input));
  text.is_markup = true;
  return MakeText(meter, std::move(text));
}

Result<Value> Escape(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "escape", {}));
  return MakeText(meter, Escaped(WEIR_TRY(ToText(meter, input))));
}

Result<Value> Format(Meter& meter, const Value& input, const Arguments& arguments) {
  const Text format = WEIR_TRY(ToText(meter, input));
  if (!arguments.named.empty()) {
    if (!arguments.positional.empty()) return TemplateError("'format' takes one kind of argument");
    Dict names;
    for (const auto& [name, value] : arguments.named) {
      WEIR_TRY(names.Set(Value::FromString(name), value));
    }
    return FormatPercent(meter, format, WEIR_TRY(MakeDict(meter, std::move(names))));
  }
  return FormatPercent(meter, format,
                       WEIR_TRY(MakeList(meter, arguments.positional, ListKind::kTuple)));
}

constexpr size_t kMaxIndent = 1000;

// An indent or width: spaces, or the string itself.
Result<std::string> IndentText(const Value& width) {
  if (const Text* text = width.text()) {
    if (text->byte_count() > kMaxIndent) return TemplateError("an indent is too long");
    return std::string(text->view());
  }
  const int64_t count = WEIR_TRY(ToInteger(width, "an indent"));
  if (count > static_cast<int64_t>(kMaxIndent)) return TemplateError("an indent is too long");
  return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
}

Result<Value> Indent(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "indent", {"width", "first", "blank"}));
  const std::string indent =
      WEIR_TRY(IndentText(bound[0] == nullptr ? Value(int64_t{4}) : *bound[0]));
  const bool indents_first = bound[1] != nullptr && bound[1]->IsTrue();
  const bool indents_blank = bound[2] != nullptr && bound[2]->IsTrue();
  Text padded = WEIR_TRY(ToText(meter, input));
  padded.Append("\n", Origin::kTemplate);  // so that there always is a line
  const Value lines =
      WEIR_TRY(CallMethod(meter, Value::FromText(std::move(padded)), "splitlines", {}));
  Text out;
  bool is_first = true;
  for (const Value& line : lines.list()->items) {
    WEIR_TRY(meter.Allocate(indent.size()));
    if (!is_first) out.Append("\n", Origin::kTemplate);
    const bool is_indented =
        is_first ? indents_first : (indents_blank || line.text()->byte_count() > 0);
    if (is_indented) out.Append(indent, Origin::kTemplate);
    out.Append(*line.text());
    is_first = false;
  }
  return MakeText(meter, std::move(out));
}

Result<void> SetSeparators(const Value& separators, JsonStyle& style) {
  const List* list = separators.list();
  if (list == nullptr || list->items.size() != 2 || list->items[0].text() == nullptr ||
      list->items[1].text() == nullptr) {
    return TemplateError("'tojson' needs two separators");
  }
  style.item_separator = list->items[0].text()->view();
  style.key_separator = list->items[1].text()->view();
  if (style.item_separator.size() + style.key_separator.size() > kMaxIndent) {
    return TemplateError("separators of 'tojson' are too long");
  }
  return {};
}

Result<Value> ToJson(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound =
      WEIR_TRY(Bind(arguments, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii_only = bound[0] != nullptr && bound[0]->IsTrue();
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    style.indent = WEIR_TRY(IndentText(*bound[1]));
    style.item_separator = std::string(1, ',');  // g++ 12 misreads assign(const char*)
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) WEIR_TRY(SetSeparators(*bound[2], style));
  style.sort_keys = bound[3] != nullptr && bound[3]->IsTrue();
  Text out;
  WEIR_TRY(AppendJson(meter, input, style, out));
  return MakeText(meter, std::move(out));
}

constexpr std::array<FilterEntry, 13> kTextFilters = {{{"trim", Trim},
                                                       {"upper", Upper},
                                                       {"lower", Lower},
                                                       {"capitalize", CapitalizeFilter},
                                                       {"title", Title},
                                                       {"replace", Replace},
                                                       {"string", String},
                                                       {"safe", Safe},
                                                       {"escape", Escape},
                                                       {"e", Escape},
                                                       {"format", Format},
                                                       {"indent", Indent},
                                                       {"tojson", ToJson}}};

}  // namespace

std::span<const FilterEntry> TextFilters() { return kTextFilters; }

}  // namespace weir::jinja
