// Filters on lists and dicts.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "jinja/case.h"
#include "jinja/filter_table.h"
#include "jinja/operators.h"
#include "jinja/write.h"

namespace weir::jinja {

namespace {

Value Integer(size_t value) { return Value(static_cast<int64_t>(value)); }

bool IsOn(const Value* flag) { return flag != nullptr && flag->IsTrue(); }

Result<Value> Length(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "length", {}));
  if (input.is_undefined()) return Integer(0);
  if (const Text* text = input.text()) {
    WEIR_TRY(meter.Scan(text->byte_count()));
    return Integer(CountCharacters(text->view()));
  }
  if (const Dict* dict = input.dict()) return Integer(dict->entries().size());
  if (const Loop* loop = input.loop()) return Integer(loop->items->size());
  const List* list = input.list();
  if (list != nullptr && list->kind != ListKind::kIterator) return Integer(list->items.size());
  return TemplateError(fmt::format("a '{}' has no length", input.type_name()));
}

Result<Value> Default(Meter&, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "default", {"default_value", "boolean"}));
  if (!input.is_undefined() && (!IsOn(bound[1]) || input.IsTrue())) return input;
  return bound[0] == nullptr ? Value::FromString({}) : *bound[0];
}

Result<Value> Join(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "join", {"d", "attribute"}));
  Text separator;
  if (bound[0] != nullptr) separator = WEIR_TRY(ToText(meter, *bound[0]));
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    Value item = items[i];
    if (bound[1] != nullptr && !bound[1]->is_none())
      item = WEIR_TRY(GetPath(meter, item, *bound[1]));
    const Text text = WEIR_TRY(ToText(meter, item));
    WEIR_TRY(meter.Allocate(text.Footprint() + separator.Footprint()));
    if (i > 0) out.Append(separator);
    out.Append(text);
  }
  return MakeText(meter, std::move(out));
}

Result<Value> First(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "first", {}));
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  return items.empty() ? Value::UndefinedBecause("'first' of nothing") : items.front();
}

Result<Value> Last(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "last", {}));
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  return items.empty() ? Value::UndefinedBecause("'last' of nothing") : items.back();
}

Result<Value> ToList(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "list", {}));
  return MakeList(meter, WEIR_TRY(ToItems(meter, input)));
}

Result<Value> Reverse(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "reverse", {}));
  if (input.text() != nullptr) {
    return Slice(meter, input, Value(), Value(), Value(int64_t{-1}));
  }
  std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  std::reverse(items.begin(), items.end());
  return MakeList(meter, std::move(items), ListKind::kIterator);
}

Result<Value> Items(Meter& meter, const Value& input, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "items", {}));
  if (input.is_undefined()) return MakeList(meter, {}, ListKind::kIterator);
  if (input.dict() == nullptr) {
    return TemplateError(fmt::format("'items' needs a mapping, not '{}'", input.type_name()));
  }
  const Value view = WEIR_TRY(CallMethod(meter, input, "items", {}));
  return MakeList(meter, view.list()->items, ListKind::kIterator);
}

// What `sort` and its kin compare: an attribute of the item, without case.
Result<Value> SortKey(Meter& meter, const Value& item, const Value* attribute,
                      bool is_case_sensitive) {
  Value key = item;
  if (attribute != nullptr && !attribute->is_none()) {
    key = WEIR_TRY(GetPath(meter, item, *attribute));
  }
  if (is_case_sensitive || key.text() == nullptr) return key;
  return MakeText(meter, WithOrigin(ToLower(key.text()->view()), *key.text()));
}

enum class Direction : uint8_t { kAscending, kDescending };

// `items` in the order of `keys`, equal ones as they were.
Result<std::vector<Value>> Sorted(Meter& meter, const std::vector<Value>& items,
                                  const std::vector<Value>& keys, Direction direction) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::optional<Error> error;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (error) return false;
    const Result<int> compared = Compare(meter, keys[a], keys[b]);
    if (!compared) {
      error = compared.error();
      return false;
    }
    return direction == Direction::kAscending ? *compared < 0 : *compared > 0;
  });
  if (error) return tl::make_unexpected(*error);
  std::vector<Value> sorted;
  sorted.reserve(items.size());
  for (size_t i : order) sorted.push_back(items[i]);
  return sorted;
}

Result<Value> Sort(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "sort", {"reverse", "case_sensitive", "attribute"}));
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  if (bound[2] != nullptr && bound[2]->text() != nullptr &&
      bound[2]->text()->view().find(',') != std::string_view::npos) {
    return TemplateError("'sort' by several attributes is not supported");
  }
  std::vector<Value> keys;
  for (const Value& item : items) {
    keys.push_back(WEIR_TRY(SortKey(meter, item, bound[2], IsOn(bound[1]))));
  }
  const Direction direction = IsOn(bound[0]) ? Direction::kDescending : Direction::kAscending;
  return MakeList(meter, WEIR_TRY(Sorted(meter, items, keys, direction)));
}

Result<Value> DictSort(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "dictsort", {"case_sensitive", "by", "reverse"}));
  if (input.dict() == nullptr) {
    return TemplateError(fmt::format("'dictsort' needs a mapping, not '{}'", input.type_name()));
  }
  const Text* by = bound[1] == nullptr ? nullptr : bound[1]->text();
  const std::string_view side = bound[1] == nullptr ? "key" : (by == nullptr ? "?" : by->view());
  if (side != "key" && side != "value") return TemplateError("'dictsort' goes by key or value");
  const Value view = WEIR_TRY(CallMethod(meter, input, "items", {}));
  std::vector<Value> keys;
  for (const auto& [key, value] : input.dict()->entries()) {
    keys.push_back(WEIR_TRY(SortKey(meter, side == "key" ? key : value, nullptr, IsOn(bound[0]))));
  }
  const Direction direction = IsOn(bound[2]) ? Direction::kDescending : Direction::kAscending;
  return MakeList(meter, WEIR_TRY(Sorted(meter, view.list()->items, keys, direction)));
}

Result<Value> Unique(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "unique", {"case_sensitive", "attribute"}));
  std::vector<Value> kept;
  Dict seen;
  for (const Value& item : WEIR_TRY(ToItems(meter, input))) {
    const Value key = WEIR_TRY(SortKey(meter, item, bound[1], IsOn(bound[0])));
    WEIR_TRY(meter.Step());
    if (seen.Find(key) != nullptr) continue;
    WEIR_TRY(seen.Set(key, Value(None{})));
    kept.push_back(item);
  }
  return MakeList(meter, std::move(kept), ListKind::kIterator);
}

Result<Value> Extreme(Meter& meter, const Value& input, const Arguments& arguments, int sign) {
  const auto bound = WEIR_TRY(Bind(arguments, "min", {"case_sensitive", "attribute"}));
  const std::vector<Value> items = WEIR_TRY(ToItems(meter, input));
  if (items.empty()) return Value::UndefinedBecause("the extreme of nothing");
  size_t best = 0;
  Value best_key = WEIR_TRY(SortKey(meter, items[0], bound[1], IsOn(bound[0])));
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = WEIR_TRY(SortKey(meter, items[i], bound[1], IsOn(bound[0])));
    if (WEIR_TRY(Compare(meter, key, best_key)) * sign <= 0) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Result<Value> Min(Meter& meter, const Value& input, const Arguments& arguments) {
  return Extreme(meter, input, arguments, -1);
}

Result<Value> Max(Meter& meter, const Value& input, const Arguments& arguments) {
  return Extreme(meter, input, arguments, 1);
}

Result<Value> Sum(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "sum", {"attribute", "start"}));
  Value total = bound[1] == nullptr ? Value(int64_t{0}) : *bound[1];
  if (total.text() != nullptr) return TemplateError("'sum' does not join strings");
  for (const Value& item : WEIR_TRY(ToItems(meter, input))) {
    const bool has_attribute = bound[0] != nullptr && !bound[0]->is_none();
    const Value term = has_attribute ? WEIR_TRY(GetPath(meter, item, *bound[0])) : item;
    total = WEIR_TRY(Arithmetic(meter, ArithmeticOp::kAdd, total, term));
  }
  return total;
}

Result<Value> Attribute(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "attr", {"name"}));
  if (bound[0] == nullptr || bound[0]->text() == nullptr)
    return TemplateError("'attr' needs a name");
  if (input.dict() != nullptr && !HasMethod(input, bound[0]->text()->view())) {
    return Value::UndefinedBecause("a dict entry is no attribute");
  }
  return GetAttribute(meter, input, bound[0]->text()->view());
}

constexpr std::array<FilterEntry, 17> kListFilters = {{{"length", Length},
                                                       {"count", Length},
                                                       {"default", Default},
                                                       {"d", Default},
                                                       {"join", Join},
                                                       {"first", First},
                                                       {"last", Last},
                                                       {"list", ToList},
                                                       {"reverse", Reverse},
                                                       {"items", Items},
                                                       {"sort", Sort},
                                                       {"dictsort", DictSort},
                                                       {"unique", Unique},
                                                       {"min", Min},
                                                       {"max", Max},
                                                       {"sum", Sum},
                                                       {"attr", Attribute}}};

}  // namespace

std::span<const FilterEntry> ListFilters() { return kListFilters; }

}  // namespace weir::jinja
