#include "jinja/value.h"

#include <algorithm>
#include <cmath>

namespace weir::jinja {

namespace {

// 1, 1.0 and True are one key in Python.
Result<void> AppendKey(const Value& key, std::string& out) {
  if (const Text* text = key.text()) {
    out += fmt::format("s{}:", text->byte_count());
    out += text->view();
  } else if (const bool* flag = key.As<bool>()) {
    out += *flag ? "n1" : "n0";
  } else if (const auto* integer = key.As<int64_t>()) {
    out += fmt::format("n{}", *integer);
  } else if (const auto* large = key.As<uint64_t>()) {
    out += fmt::format("n{}", *large);
  } else if (const auto* real = key.As<double>()) {
    const bool is_whole = std::nearbyint(*real) == *real && std::abs(*real) < 9e18;
    out += is_whole ? fmt::format("n{}", static_cast<int64_t>(*real)) : fmt::format("f{}", *real);
  } else if (key.is_none()) {
    out += "N";
  } else if (const List* list = key.list(); list != nullptr && list->kind == ListKind::kTuple) {
    out += fmt::format("t{}:", list->items.size());
    for (const Value& item : list->items) WEIR_TRY(AppendKey(item, out));
  } else {
    return TemplateError(fmt::format("a '{}' cannot be a key", key.type_name()));
  }
  return {};
}

}  // namespace

Value Value::UndefinedBecause(std::string reason) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(reason))});
}

bool Value::is_number() const {
  return As<bool>() != nullptr || As<int64_t>() != nullptr || As<uint64_t>() != nullptr ||
         As<double>() != nullptr;
}

uint32_t Value::depth() const {
  if (const List* items = list()) return items->depth;
  if (const Dict* entries = dict()) return entries->depth();
  if (const Loop* state = loop()) return state->depth;
  return 0;
}

std::string_view Value::type_name() const {
  static constexpr std::string_view kListNames[] = {"list", "tuple", "range", "dict_items",
                                                    "generator"};
  if (const List* items = list()) return kListNames[static_cast<size_t>(items->kind)];
  static constexpr std::string_view kNames[] = {
      "Undefined", "NoneType", "bool", "int",       "int",         "float",
      "str",       "list",     "dict", "Namespace", "LoopContext", "function"};
  return kNames[storage_.index()];
}

bool Value::IsTrue() const {
  if (const bool* flag = As<bool>()) return *flag;
  if (const auto* integer = As<int64_t>()) return *integer != 0;
  if (const auto* real = As<double>()) return *real != 0;
  if (const Text* string = text()) return string->byte_count() > 0;
  if (const Dict* entries = dict()) return !entries->entries().empty();
  if (const List* items = list())
    return items->kind == ListKind::kIterator || !items->items.empty();
  return !is_undefined() && !is_none();
}

Result<void> Dict::Set(Value key, Value value) {
  std::string index_key;
  WEIR_TRY(AppendKey(key, index_key));
  depth_ = std::max({depth_, value.depth() + 1, key.depth() + 1});
  const auto [place, is_new] = index_.try_emplace(std::move(index_key), entries_.size());
  if (is_new) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
  return {};
}

const Value* Dict::Find(const Value& key) const {
  std::string index_key;
  if (!AppendKey(key, index_key)) return nullptr;
  const auto place = index_.find(index_key);
  return place == index_.end() ? nullptr : &entries_[place->second].second;
}

const Value* Dict::Find(std::string_view key) const {
  return Find(Value::FromString(std::string(key)));
}

namespace {

Result<void> CheckDepth(const Meter& meter, uint32_t depth) {
  if (depth <= meter.limits().value_depth) return {};
  return TemplateError(fmt::format("values nested deeper than {}", meter.limits().value_depth));
}

}  // namespace

Result<Value> MakeList(Meter& meter, std::vector<Value> items, ListKind kind) {
  WEIR_TRY(meter.Allocate(64 + items.size() * sizeof(Value)));
  auto list = std::make_shared<List>();
  list->kind = kind;
  for (const Value& item : items) list->depth = std::max(list->depth, item.depth() + 1);
  list->items = std::move(items);
  WEIR_TRY(CheckDepth(meter, list->depth));
  return Value(Value::ListPtr(std::move(list)));
}

Result<Value> MakeText(Meter& meter, Text text) {
  WEIR_TRY(meter.Allocate(text.Footprint()));
  return Value::FromText(std::move(text));
}

Result<Value> MakeDict(Meter& meter, Dict dict) {
  uint64_t bytes = 64;
  for (const auto& [key, value] : dict.entries()) {
    bytes += 128 + 2 * (key.text() == nullptr ? 0 : key.text()->byte_count());
  }
  WEIR_TRY(meter.Allocate(bytes));
  WEIR_TRY(CheckDepth(meter, dict.depth()));
  return Value(Value::DictPtr(std::make_shared<const Dict>(std::move(dict))));
}

namespace {

template <class T>
int ThreeWay(const T& left, const T& right) {
  return left < right ? -1 : (right < left ? 1 : 0);
}

const int64_t* AsInteger(const Value& value, int64_t& storage) {
  if (const bool* flag = value.As<bool>()) {
    storage = *flag ? 1 : 0;
    return &storage;
  }
  return value.As<int64_t>();
}

int CompareNumbers(const Value& left, const Value& right) {
  int64_t left_storage = 0;
  int64_t right_storage = 0;
  const int64_t* left_integer = AsInteger(left, left_storage);
  const int64_t* right_integer = AsInteger(right, right_storage);
  if (left_integer != nullptr && right_integer != nullptr) {
    return ThreeWay(*left_integer, *right_integer);
  }
  const auto* left_large = left.As<uint64_t>();
  const auto* right_large = right.As<uint64_t>();
  if (left_large != nullptr && right_large != nullptr) return ThreeWay(*left_large, *right_large);
  return ThreeWay(ToDouble(left), ToDouble(right));
}

bool IsEitherNan(const Value& left, const Value& right) {
  return std::isnan(ToDouble(left)) || std::isnan(ToDouble(right));
}

Result<bool> EqualItems(Meter& meter, const List& left, const List& right) {
  if (&left == &right) return true;
  if (left.kind != right.kind || left.items.size() != right.items.size()) return false;
  if (left.kind == ListKind::kIterator || left.kind == ListKind::kView) return false;
  for (size_t i = 0; i < left.items.size(); ++i) {
    if (!WEIR_TRY(Equal(meter, left.items[i], right.items[i]))) return false;
  }
  return true;
}

Result<bool> EqualEntries(Meter& meter, const Dict& left, const Dict& right) {
  if (&left == &right) return true;
  if (left.entries().size() != right.entries().size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* other = right.Find(key);
    if (other == nullptr || !WEIR_TRY(Equal(meter, value, *other))) return false;
  }
  return true;
}

}  // namespace

Result<bool> Equal(Meter& meter, const Value& left, const Value& right) {
  WEIR_TRY(meter.Step());
  if (left.is_number() && right.is_number()) {
    return !IsEitherNan(left, right) && CompareNumbers(left, right) == 0;
  }
  if (left.text() != nullptr && right.text() != nullptr) {
    WEIR_TRY(meter.Scan(left.text()->byte_count()));
    return left.text()->view() == right.text()->view();
  }
  if (left.list() != nullptr && right.list() != nullptr) {
    return EqualItems(meter, *left.list(), *right.list());
  }
  if (left.dict() != nullptr && right.dict() != nullptr) {
    return EqualEntries(meter, *left.dict(), *right.dict());
  }
  if (left.name_space() != nullptr) return left.name_space() == right.name_space();
  if (left.callable() != nullptr) return left.callable() == right.callable();
  if (left.loop() != nullptr) return left.loop() == right.loop();
  return (left.is_none() && right.is_none()) || (left.is_undefined() && right.is_undefined());
}

Result<int> Compare(Meter& meter, const Value& left, const Value& right) {
  WEIR_TRY(meter.Step());
  if (left.is_number() && right.is_number()) return CompareNumbers(left, right);
  if (left.text() != nullptr && right.text() != nullptr) {
    WEIR_TRY(meter.Scan(left.text()->byte_count()));
    return left.text()->view().compare(right.text()->view());  // UTF-8 keeps code point order
  }
  const List* a = left.list();
  const List* b = right.list();
  if (a == nullptr || b == nullptr || a->kind != b->kind || a->kind > ListKind::kTuple) {
    if (left.is_undefined()) return TemplateError(UndefinedReason(left));
    if (right.is_undefined()) return TemplateError(UndefinedReason(right));
    return TemplateError(
        fmt::format("cannot order '{}' and '{}'", left.type_name(), right.type_name()));
  }
  for (size_t i = 0; i < a->items.size() && i < b->items.size(); ++i) {
    if (WEIR_TRY(Equal(meter, a->items[i], b->items[i]))) continue;
    return Compare(meter, a->items[i], b->items[i]);
  }
  return ThreeWay(a->items.size(), b->items.size());
}

std::string UndefinedReason(const Value& value) {
  const auto* undefined = value.As<Undefined>();
  if (undefined == nullptr || undefined->reason == nullptr) return "a value is undefined";
  return *undefined->reason;
}

Result<int64_t> ToInteger(const Value& value, std::string_view what) {
  if (const auto* integer = value.As<int64_t>()) return *integer;
  if (const bool* flag = value.As<bool>()) return *flag ? 1 : 0;
  if (value.is_undefined()) return TemplateError(UndefinedReason(value));
  return TemplateError(fmt::format("{} must be an integer, not '{}'", what, value.type_name()));
}

double ToDouble(const Value& number) {
  if (const auto* integer = number.As<int64_t>()) return static_cast<double>(*integer);
  if (const auto* large = number.As<uint64_t>()) return static_cast<double>(*large);
  if (const auto* real = number.As<double>()) return *real;
  const bool* flag = number.As<bool>();
  return flag != nullptr && *flag ? 1 : 0;
}

namespace {

Result<std::vector<Value>> Characters(Meter& meter, const Text& text) {
  std::vector<Value> items;
  WEIR_TRY(meter.Allocate(CountCharacters(text.view()) * (sizeof(Value) + sizeof(Text) + 16)));
  for (size_t at = 0; at < text.byte_count();) {
    const size_t next = NextCharacter(text.view(), at);
    items.push_back(Value::FromText(text.Slice(at, next)));
    at = next;
  }
  return items;
}

}  // namespace

Result<std::vector<Value>> ToItems(Meter& meter, const Value& value) {
  if (value.is_undefined()) return std::vector<Value>();
  if (const Text* text = value.text()) return Characters(meter, *text);
  if (const List* list = value.list()) {
    WEIR_TRY(meter.Allocate(list->items.size() * sizeof(Value)));
    if (list->kind != ListKind::kIterator) return list->items;
    if (std::exchange(list->is_spent, true)) return std::vector<Value>();
    return list->items;
  }
  if (const Dict* dict = value.dict()) {
    WEIR_TRY(meter.Allocate(dict->entries().size() * sizeof(Value)));
    std::vector<Value> keys;
    keys.reserve(dict->entries().size());
    for (const auto& entry : dict->entries()) keys.push_back(entry.first);
    return keys;
  }
  return TemplateError(fmt::format("a '{}' cannot be iterated over", value.type_name()));
}

Result<std::shared_ptr<const std::vector<Value>>> ShareItems(Meter& meter, const Value& value) {
  using Items = std::shared_ptr<const std::vector<Value>>;
  const auto* list = value.As<Value::ListPtr>();
  if (list != nullptr && (*list)->kind != ListKind::kIterator) return Items(*list, &(*list)->items);
  return Items(std::make_shared<const std::vector<Value>>(WEIR_TRY(ToItems(meter, value))));
}

}  // namespace weir::jinja
