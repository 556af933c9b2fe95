#include "jinja/operators.h"

#include <cmath>
#include <limits>
#include <optional>

#include "jinja/format.h"
#include "jinja/write.h"

namespace weir::jinja {

namespace {

constexpr std::string_view kOperatorNames[] = {"+", "-", "*", "/", "//", "%", "**"};

std::optional<int64_t> IntegerOf(const Value& value) {
  if (const auto* integer = value.As<int64_t>()) return *integer;
  if (const bool* flag = value.As<bool>()) return *flag ? 1 : 0;
  return std::nullopt;
}

std::optional<int64_t> Power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

// Rounds towards minus infinity; `right` is neither 0 nor the overflowing -1.
int64_t FloorDivide(int64_t left, int64_t right) {
  const int64_t quotient = left / right;
  return quotient * right != left && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

Result<Value> OnIntegers(ArithmeticOp op, int64_t left, int64_t right) {
  int64_t result = 0;
  bool overflows = false;
  switch (op) {
    case ArithmeticOp::kAdd:
      overflows = __builtin_add_overflow(left, right, &result);
      break;
    case ArithmeticOp::kSubtract:
      overflows = __builtin_sub_overflow(left, right, &result);
      break;
    case ArithmeticOp::kMultiply:
      overflows = __builtin_mul_overflow(left, right, &result);
      break;
    case ArithmeticOp::kDivide:
      if (right == 0) return TemplateError("division by zero");
      return Value(static_cast<double>(left) / static_cast<double>(right));
    case ArithmeticOp::kFloor:
    case ArithmeticOp::kModulo:
      if (right == 0) return TemplateError("division by zero");
      if (right == -1) {
        overflows = op == ArithmeticOp::kFloor && __builtin_sub_overflow(int64_t{0}, left, &result);
      } else {
        const int64_t quotient = FloorDivide(left, right);
        result = op == ArithmeticOp::kFloor ? quotient : left - quotient * right;
      }
      break;
    case ArithmeticOp::kPower:
      if (right < 0) {
        if (left == 0) return TemplateError("division by zero");
        return Value(std::pow(static_cast<double>(left), static_cast<double>(right)));
      }
      if (const auto power = Power(left, right)) return Value(*power);
      overflows = true;
      break;
  }
  if (overflows) return TemplateError("an integer leaves 64 bits");
  return Value(result);
}

Result<Value> OnDoubles(ArithmeticOp op, double left, double right) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return Value(left + right);
    case ArithmeticOp::kSubtract:
      return Value(left - right);
    case ArithmeticOp::kMultiply:
      return Value(left * right);
    case ArithmeticOp::kPower:
      if ((left == 0 && right < 0) || (left < 0 && std::nearbyint(right) != right)) {
        return TemplateError("'**' has no real result");
      }
      return Value(std::pow(left, right));
    default:
      break;
  }
  if (right == 0) return TemplateError("division by zero");
  if (op == ArithmeticOp::kDivide) return Value(left / right);
  double remainder = std::fmod(left, right);
  if (remainder != 0 && (remainder < 0) != (right < 0)) remainder += right;
  if (op == ArithmeticOp::kModulo)
    return Value(remainder == 0 ? std::copysign(0.0, right) : remainder);
  return Value(std::floor((left - remainder) / right + 0.5));
}

// text * count, list * count.
Result<Value> Repeat(Meter& meter, const Value& value, int64_t count) {
  const uint64_t times = count < 0 ? 0 : static_cast<uint64_t>(count);
  const uint64_t unit = value.text() != nullptr ? value.text()->byte_count()
                                                : value.list()->items.size() * sizeof(Value);
  if (unit == 0) return value;
  if (times > meter.limits().output_bytes / unit) {
    return TemplateError(fmt::format("a value grows beyond {} bytes", meter.limits().output_bytes));
  }
  WEIR_TRY(meter.Allocate(unit * times));
  if (const Text* text = value.text()) {
    Text out;
    for (uint64_t i = 0; i < times; ++i) out.Append(*text);
    return MakeText(meter, std::move(out));
  }
  std::vector<Value> items;
  for (uint64_t i = 0; i < times; ++i) {
    items.insert(items.end(), value.list()->items.begin(), value.list()->items.end());
  }
  return MakeList(meter, std::move(items), value.list()->kind);
}

bool IsRepeatable(const Value& value) {
  return value.text() != nullptr ||
         (value.list() != nullptr && value.list()->kind <= ListKind::kTuple);
}

tl::unexpected<Error> Mismatch(ArithmeticOp op, const Value& left, const Value& right) {
  if (left.is_undefined()) return TemplateError(UndefinedReason(left));
  if (right.is_undefined()) return TemplateError(UndefinedReason(right));
  return TemplateError(fmt::format("'{}' cannot join '{}' and '{}'",
                                   kOperatorNames[static_cast<size_t>(op)], left.type_name(),
                                   right.type_name()));
}

Result<Value> OnSequences(Meter& meter, ArithmeticOp op, const Value& left, const Value& right) {
  if (op == ArithmeticOp::kAdd && left.text() != nullptr && right.text() != nullptr) {
    WEIR_TRY(meter.Allocate(left.text()->Footprint() + right.text()->Footprint()));
    return MakeText(meter, JoinTwo(*left.text(), *right.text()));
  }
  const List* a = left.list();
  const List* b = right.list();
  if (op == ArithmeticOp::kAdd && a != nullptr && b != nullptr && a->kind == b->kind &&
      a->kind <= ListKind::kTuple) {
    WEIR_TRY(meter.Allocate((a->items.size() + b->items.size()) * sizeof(Value)));
    std::vector<Value> items = a->items;
    items.insert(items.end(), b->items.begin(), b->items.end());
    return MakeList(meter, std::move(items), a->kind);
  }
  if (op == ArithmeticOp::kMultiply) {
    const auto left_count = IntegerOf(left);
    const auto right_count = IntegerOf(right);
    if (IsRepeatable(left) && right_count) return Repeat(meter, left, *right_count);
    if (IsRepeatable(right) && left_count) return Repeat(meter, right, *left_count);
  }
  if (op == ArithmeticOp::kModulo && left.text() != nullptr) {
    return FormatPercent(meter, *left.text(), right);
  }
  return Mismatch(op, left, right);
}

}  // namespace

Result<Value> Arithmetic(Meter& meter, ArithmeticOp op, const Value& left, const Value& right) {
  const auto left_integer = IntegerOf(left);
  const auto right_integer = IntegerOf(right);
  if (left_integer && right_integer) return OnIntegers(op, *left_integer, *right_integer);
  if (left.is_number() && right.is_number()) {
    if (left.As<uint64_t>() != nullptr || right.As<uint64_t>() != nullptr) {
      return TemplateError("an integer leaves 64 bits");
    }
    return OnDoubles(op, ToDouble(left), ToDouble(right));
  }
  return OnSequences(meter, op, left, right);
}

Result<Value> Negate(const Value& value) {
  if (const auto integer = IntegerOf(value))
    return OnIntegers(ArithmeticOp::kSubtract, 0, *integer);
  if (const auto* real = value.As<double>()) return Value(-*real);
  if (value.is_undefined()) return TemplateError(UndefinedReason(value));
  return TemplateError(fmt::format("'-' does not apply to '{}'", value.type_name()));
}

Result<bool> Contains(Meter& meter, const Value& container, const Value& item) {
  if (const Text* text = container.text()) {
    if (item.text() == nullptr) {
      return TemplateError(fmt::format("'in' a string needs a string, not '{}'", item.type_name()));
    }
    WEIR_TRY(meter.Scan(text->byte_count()));
    return text->view().find(item.text()->view()) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) return dict->Find(item) != nullptr;
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, container));
  for (const Value& other : items) {
    if (WEIR_TRY(Equal(meter, other, item))) return true;
  }
  return false;
}

Text Escaped(const Text& text) {
  if (text.is_markup) return text;
  Text out;
  out.is_markup = true;
  size_t done = 0;
  const std::string_view view = text.view();
  for (size_t at = 0; at < view.size(); ++at) {
    const std::string_view entity = view[at] == '&'    ? "&amp;"
                                    : view[at] == '<'  ? "&lt;"
                                    : view[at] == '>'  ? "&gt;"
                                    : view[at] == '"'  ? "&#34;"
                                    : view[at] == '\'' ? "&#39;"
                                                       : "";
    if (entity.empty()) continue;
    out.AppendSlice(text, done, at);
    out.Append(entity, text.Slice(at, at + 1).WorstOrigin());
    done = at + 1;
  }
  out.AppendSlice(text, done, view.size());
  return out;
}

Text JoinTwo(const Text& left, const Text& right) {
  const bool is_markup = left.is_markup || right.is_markup;
  Text out = is_markup ? Escaped(left) : left;
  out.Append(is_markup ? Escaped(right) : right);
  return out;
}

Result<Value> Concatenate(Meter& meter, const std::vector<Value>& values) {
  Text out;
  for (const Value& value : values) {
    const Text text = WEIR_TRY(ToText(meter, value));
    WEIR_TRY(meter.Allocate(text.Footprint()));
    out.Append(text);
  }
  return MakeText(meter, std::move(out));
}

}  // namespace weir::jinja
