// Attributes, subscripts and slices.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "jinja/callable.h"
#include "jinja/operators.h"

namespace weir::jinja {

namespace {

std::string ObjectName(const Value& value) {
  return value.is_none() ? "None" : fmt::format("{} object", value.type_name());
}

// Python's would change their object: the sandbox forbids it.
bool IsForbidden(const Value& object, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kOfLists = {
      "append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"};
  static constexpr std::array<std::string_view, 5> kOfDicts = {"clear", "pop", "popitem",
                                                               "setdefault", "update"};
  const auto is_in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return (object.list() != nullptr && is_in(kOfLists)) ||
         (object.dict() != nullptr && is_in(kOfDicts));
}

Value Integer(size_t value) { return Value(static_cast<int64_t>(value)); }

Value LoopAttribute(const Loop& loop, std::string_view name) {
  const size_t position = loop.position;
  const size_t count = loop.items->size();
  if (name == "index") return Integer(position + 1);
  if (name == "index0") return Integer(position);
  if (name == "revindex") return Integer(count - position);
  if (name == "revindex0") return Integer(count - position - 1);
  if (name == "first") return Value(position == 0);
  if (name == "last") return Value(position + 1 == count);
  if (name == "length") return Integer(count);
  if (name == "depth") return Integer(1);
  if (name == "depth0") return Integer(0);
  if (name == "previtem") {
    return position > 0 ? (*loop.items)[position - 1]
                        : Value::UndefinedBecause("there is no previous item");
  }
  if (name == "nextitem") {
    return position + 1 < count ? (*loop.items)[position + 1]
                                : Value::UndefinedBecause("there is no next item");
  }
  return Value::UndefinedBecause(fmt::format("'loop' has no attribute '{}'", name));
}

Value Method(const Value& object, std::string_view name) {
  auto method = std::make_shared<Callable>();
  method->kind = CallableKind::kMethod;
  method->name = name;
  method->self = object;
  return Value(Value::CallablePtr(std::move(method)));
}

Value NoAttribute(const Value& object, std::string_view name) {
  return Value::UndefinedBecause(
      fmt::format("'{}' has no attribute '{}'", ObjectName(object), name));
}

// A position as Python indexes: negative ones count from the end. Past the ends: nullopt-like -1.
int64_t Position(int64_t index, size_t count) {
  const auto signed_count = static_cast<int64_t>(count);
  if (index < 0) index += signed_count;
  return index < 0 || index >= signed_count ? -1 : index;
}

Result<Value> CharacterAt(Meter& meter, const Text& text, int64_t index) {
  WEIR_TRY(meter.Scan(text.byte_count()));
  const int64_t position = Position(index, CountCharacters(text.view()));
  if (position < 0) return Value::UndefinedBecause("index behind the end of a string");
  const size_t begin = OffsetOfCharacter(text.view(), static_cast<size_t>(position));
  return MakeText(meter, text.Slice(begin, NextCharacter(text.view(), begin)));
}

}  // namespace

Result<Value> GetAttribute(Meter& meter, const Value& object, std::string_view name) {
  WEIR_TRY(meter.Step());
  if (object.is_undefined()) return TemplateError(UndefinedReason(object));
  if (const Loop* loop = object.loop()) {
    return HasMethod(object, name) ? Method(object, name) : LoopAttribute(*loop, name);
  }
  if (const Namespace* space = object.name_space()) {
    const auto found = space->attributes.find(name);
    return found == space->attributes.end() ? NoAttribute(object, name) : found->second;
  }
  if (HasMethod(object, name)) return Method(object, name);
  if (IsForbidden(object, name)) {
    return Value::UndefinedBecause(
        fmt::format("'{}' would change a '{}', which templates may not", name, ObjectName(object)));
  }
  if (const Dict* dict = object.dict()) {
    if (const Value* entry = dict->Find(name)) return *entry;
  }
  return NoAttribute(object, name);
}

Result<Value> GetItem(Meter& meter, const Value& object, const Value& key) {
  WEIR_TRY(meter.Step());
  if (object.is_undefined()) return TemplateError(UndefinedReason(object));
  if (const Dict* dict = object.dict()) {
    if (const Value* entry = dict->Find(key)) return *entry;
  }
  if (key.text() != nullptr) return GetAttribute(meter, object, key.text()->view());
  const auto* integer = key.As<int64_t>();
  const bool* flag = key.As<bool>();
  if (integer != nullptr || flag != nullptr) {
    const int64_t index = integer != nullptr ? *integer : (*flag ? 1 : 0);
    if (const Text* text = object.text()) return CharacterAt(meter, *text, index);
    const List* list = object.list();
    if (list != nullptr && list->kind <= ListKind::kRange) {
      const int64_t position = Position(index, list->items.size());
      if (position >= 0) return list->items[static_cast<size_t>(position)];
    }
  }
  return Value::UndefinedBecause(fmt::format("{} has no such element", ObjectName(object)));
}

Result<Value> GetPath(Meter& meter, const Value& object, const Value& path) {
  if (path.text() == nullptr) return GetItem(meter, object, path);
  Value value = object;
  const std::string_view names = path.text()->view();
  for (size_t begin = 0; begin <= names.size();) {
    const size_t end = std::min(names.find('.', begin), names.size());
    const std::string_view part = names.substr(begin, end - begin);
    int64_t index = 0;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = !part.empty() && part[0] != '-' && parsed.ec == std::errc() &&
                          parsed.ptr == part.data() + part.size();
    value = WEIR_TRY(
        GetItem(meter, value, is_index ? Value(index) : Value::FromString(std::string(part))));
    begin = end + 1;
  }
  return value;
}

namespace {

// The positions that object[start:stop:step] visits.
struct Steps {
  int64_t first = 0;
  int64_t count = 0;
  int64_t step = 1;
};

Result<Steps> ResolveSlice(size_t size, const Value& start, const Value& stop, const Value& step) {
  const auto is_absent = [](const Value& value) { return value.is_undefined() || value.is_none(); };
  const auto count = static_cast<int64_t>(size);
  Steps steps;
  if (!is_absent(step)) steps.step = WEIR_TRY(ToInteger(step, "a slice's step"));
  if (steps.step == 0) return TemplateError("a slice's step is 0");
  steps.step = std::clamp<int64_t>(steps.step, -(count + 1), count + 1);
  const bool is_forward = steps.step > 0;
  const int64_t lowest = is_forward ? 0 : -1;
  const int64_t highest = is_forward ? count : count - 1;
  const auto resolve = [&](const Value& bound, int64_t absent) -> Result<int64_t> {
    if (is_absent(bound)) return absent;
    int64_t position = WEIR_TRY(ToInteger(bound, "a slice's bound"));
    if (position < 0) position = std::max(position, -count - 1) + count;
    return std::clamp(position, lowest, highest);
  };
  steps.first = WEIR_TRY(resolve(start, is_forward ? lowest : highest));
  const int64_t end = WEIR_TRY(resolve(stop, is_forward ? highest : lowest));
  const int64_t distance = is_forward ? end - steps.first : steps.first - end;
  const int64_t stride = is_forward ? steps.step : -steps.step;
  steps.count = distance <= 0 ? 0 : (distance + stride - 1) / stride;
  return steps;
}

Result<Value> SliceText(Meter& meter, const Text& text, const Value& start, const Value& stop,
                        const Value& step) {
  const std::string_view view = text.view();
  WEIR_TRY(meter.Scan(2 * view.size()));
  const Steps steps = WEIR_TRY(ResolveSlice(CountCharacters(view), start, stop, step));
  if (steps.count == 0) return Value::FromString({});
  if (steps.step == 1) {
    const size_t begin = OffsetOfCharacter(view, static_cast<size_t>(steps.first));
    const size_t length = OffsetOfCharacter(view.substr(begin), static_cast<size_t>(steps.count));
    return MakeText(meter, text.Slice(begin, begin + length));
  }
  WEIR_TRY(meter.Allocate(view.size() * sizeof(size_t)));
  std::vector<size_t> offsets;
  for (size_t at = 0; at < view.size(); at = NextCharacter(view, at)) offsets.push_back(at);
  Text out;
  for (int64_t i = 0; i < steps.count; ++i) {
    const size_t begin = offsets[static_cast<size_t>(steps.first + i * steps.step)];
    out.AppendSlice(text, begin, NextCharacter(view, begin));
  }
  return MakeText(meter, std::move(out));
}

}  // namespace

Result<Value> Slice(Meter& meter, const Value& object, const Value& start, const Value& stop,
                    const Value& step) {
  if (object.is_undefined()) return TemplateError(UndefinedReason(object));
  if (const Text* text = object.text()) return SliceText(meter, *text, start, stop, step);
  if (object.dict() != nullptr) return TemplateError("a dict cannot be sliced");
  const List* list = object.list();
  if (list == nullptr || list->kind > ListKind::kRange) {
    return Value::UndefinedBecause(fmt::format("{} cannot be sliced", ObjectName(object)));
  }
  const Steps steps = WEIR_TRY(ResolveSlice(list->items.size(), start, stop, step));
  std::vector<Value> items;
  WEIR_TRY(meter.Allocate(static_cast<uint64_t>(steps.count) * sizeof(Value)));
  for (int64_t i = 0; i < steps.count; ++i) {
    items.push_back(list->items[static_cast<size_t>(steps.first + i * steps.step)]);
  }
  return MakeList(meter, std::move(items), list->kind);
}

}  // namespace weir::jinja
