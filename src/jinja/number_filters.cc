// Filters that make numbers.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "jinja/filter_table.h"
#include "jinja/operators.h"

namespace weir::jinja {

namespace {

// White space and single underscores gone; nullopt if the underscores are misplaced.
std::optional<std::string> CleanNumber(std::string_view text) {
  text = text.substr(0, EndWithoutSpace(text));
  text.remove_prefix(SkipSpace(text, 0));
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto is_digit = [&](size_t at) {
      return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
    };
    if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<int64_t> ParseInteger(std::string_view text, int base) {
  const auto cleaned = CleanNumber(text);
  if (!cleaned) return std::nullopt;
  const char* begin = cleaned->data();
  const char* end = begin + cleaned->size();
  if (begin != end && *begin == '+') ++begin;
  int64_t value = 0;
  const auto parsed = std::from_chars(begin, end, value, base);
  if (begin == end || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> ParseDouble(std::string_view text) {
  const auto cleaned = CleanNumber(text);
  if (!cleaned || cleaned->empty() || cleaned->find_first_of("xXpP(") != std::string::npos) {
    return std::nullopt;
  }
  char* end = nullptr;
  const double value = std::strtod(cleaned->c_str(), &end);
  if (end != cleaned->c_str() + cleaned->size()) return std::nullopt;
  return value;
}

Result<Value> Truncated(double value) {
  if (!(std::abs(value) < 9.2e18)) return TemplateError("an integer leaves 64 bits");
  return Value(static_cast<int64_t>(value));
}

Result<Value> Int(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "int", {"default", "base"}));
  const Value fallback = bound[0] == nullptr ? Value(int64_t{0}) : *bound[0];
  if (input.is_undefined()) return TemplateError(UndefinedReason(input));
  if (const Text* text = input.text()) {
    WEIR_TRY(meter.Scan(text->byte_count()));
    const int64_t base = bound[1] == nullptr ? 10 : WEIR_TRY(ToInteger(*bound[1], "a base"));
    if (base < 2 || base > 36) return TemplateError("'int' needs a base from 2 to 36");
    if (const auto integer = ParseInteger(text->view(), static_cast<int>(base))) {
      return Value(*integer);
    }
    const auto real = ParseDouble(text->view());
    if (!real || !std::isfinite(*real)) return fallback;
    return Truncated(*real);
  }
  if (const auto* real = input.As<double>()) return std::isnan(*real) ? fallback : Truncated(*real);
  if (const bool* flag = input.As<bool>()) return Value(int64_t{*flag ? 1 : 0});
  return input.is_number() ? input : fallback;
}

Result<Value> Float(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "float", {"default"}));
  if (input.is_undefined()) return TemplateError(UndefinedReason(input));
  if (input.is_number()) return Value(ToDouble(input));
  if (const Text* text = input.text()) {
    WEIR_TRY(meter.Scan(text->byte_count()));
    if (const auto real = ParseDouble(text->view())) return Value(*real);
  }
  return bound[0] == nullptr ? Value(0.0) : *bound[0];
}

Result<Value> Abs(Meter&, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "abs", {}));
  if (const auto* real = input.As<double>()) return Value(std::abs(*real));
  const int64_t integer = WEIR_TRY(ToInteger(input, "'abs'"));
  return integer < 0 ? Negate(Value(integer)) : Result<Value>(Value(integer));
}

Result<Value> Round(Meter&, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "round", {"precision", "method"}));
  const int64_t precision = bound[0] == nullptr ? 0 : WEIR_TRY(ToInteger(*bound[0], "a precision"));
  std::string_view method = "common";
  if (bound[1] != nullptr) method = bound[1]->text() == nullptr ? "?" : bound[1]->text()->view();
  if (!input.is_number()) return TemplateError("'round' needs a number");
  if (precision < 0 || precision > 30)
    return TemplateError("'round' needs a precision from 0 to 30");
  const double value = ToDouble(input);
  if (method == "common") {
    if (input.As<double>() == nullptr) return Value(WEIR_TRY(ToInteger(input, "'round'")));
    // Decimal digits of the exact value, ties to even: what Python's round() does.
    return Value(std::strtod(fmt::format("{:.{}f}", value, precision).c_str(), nullptr));
  }
  if (method != "ceil" && method != "floor") {
    return TemplateError("method of 'round' must be common, ceil or floor");
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  return Value((method == "ceil" ? std::ceil(value * scale) : std::floor(value * scale)) / scale);
}

constexpr std::array<FilterEntry, 4> kNumberFilters = {
    {{"int", Int}, {"float", Float}, {"abs", Abs}, {"round", Round}}};

}  // namespace

std::span<const FilterEntry> NumberFilters() { return kNumberFilters; }

}  // namespace weir::jinja
