// Methods of dicts, lists and loops, and the way to those of strings.
#include <algorithm>
#include <array>

#include "jinja/callable.h"
#include "jinja/operators.h"
#include "jinja/text_methods.h"

namespace weir::jinja {

namespace {

using Method = Result<Value> (*)(Meter&, const Value& self, const Arguments& arguments);
using MethodEntry = std::pair<std::string_view, Method>;

Result<Value> DictGet(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "get", {"key", "default"}));
  if (bound[0] == nullptr) return TemplateError("'get' needs a key");
  WEIR_TRY(meter.Step());
  const Value* entry = self.dict()->Find(*bound[0]);
  if (entry != nullptr) return *entry;
  return bound[1] == nullptr ? Value(None{}) : *bound[1];
}

enum class Part : uint8_t { kKeys, kValues, kItems };

Result<Value> DictView(Meter& meter, const Value& self, const Arguments& arguments, Part part) {
  WEIR_TRY(Bind(arguments, "items", {}));
  std::vector<Value> items;
  for (const auto& [key, value] : self.dict()->entries()) {
    if (part == Part::kItems) {
      items.push_back(WEIR_TRY(MakeList(meter, {key, value}, ListKind::kTuple)));
    } else {
      items.push_back(part == Part::kKeys ? key : value);
    }
  }
  return MakeList(meter, std::move(items), ListKind::kView);
}

Result<Value> DictItems(Meter& meter, const Value& self, const Arguments& arguments) {
  return DictView(meter, self, arguments, Part::kItems);
}
Result<Value> DictKeys(Meter& meter, const Value& self, const Arguments& arguments) {
  return DictView(meter, self, arguments, Part::kKeys);
}
Result<Value> DictValues(Meter& meter, const Value& self, const Arguments& arguments) {
  return DictView(meter, self, arguments, Part::kValues);
}

Result<Value> Copy(Meter&, const Value& self, const Arguments& arguments) {
  WEIR_TRY(Bind(arguments, "copy", {}));
  return self;  // nothing can change it
}

Result<Value> ListCount(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "count", {"value"}));
  if (bound[0] == nullptr) return TemplateError("'count' needs a value");
  int64_t count = 0;
  for (const Value& item : self.list()->items) {
    if (WEIR_TRY(Equal(meter, item, *bound[0]))) ++count;
  }
  return Value(count);
}

Result<Value> ListIndex(Meter& meter, const Value& self, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "index", {"value"}));
  if (bound[0] == nullptr) return TemplateError("'index' needs a value");
  const std::vector<Value>& items = self.list()->items;
  for (size_t i = 0; i < items.size(); ++i) {
    if (WEIR_TRY(Equal(meter, items[i], *bound[0]))) return Value(static_cast<int64_t>(i));
  }
  return TemplateError("'index' does not find the value");
}

Result<Value> LoopCycle(Meter&, const Value& self, const Arguments& arguments) {
  if (arguments.positional.empty()) return TemplateError("'cycle' needs values");
  return arguments.positional[self.loop()->position % arguments.positional.size()];
}

constexpr std::array<MethodEntry, 5> kDictMethods = {{{"get", DictGet},
                                                      {"items", DictItems},
                                                      {"keys", DictKeys},
                                                      {"values", DictValues},
                                                      {"copy", Copy}}};
constexpr std::array<MethodEntry, 3> kListMethods = {
    {{"count", ListCount}, {"index", ListIndex}, {"copy", Copy}}};
constexpr std::array<MethodEntry, 1> kLoopMethods = {{{"cycle", LoopCycle}}};

template <class Table>
Method FindIn(const Table& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == table.end() ? nullptr : found->second;
}

Method FindMethod(const Value& self, std::string_view name) {
  if (self.text() != nullptr) return FindIn(TextMethods(), name);
  if (self.dict() != nullptr) return FindIn(kDictMethods, name);
  if (self.loop() != nullptr) return FindIn(kLoopMethods, name);
  const List* list = self.list();
  const bool is_sequence = list != nullptr && list->kind <= ListKind::kTuple;
  return is_sequence ? FindIn(kListMethods, name) : nullptr;
}

}  // namespace

bool HasMethod(const Value& self, std::string_view name) {
  return FindMethod(self, name) != nullptr;
}

Result<Value> CallMethod(Meter& meter, const Value& self, std::string_view name,
                         const Arguments& arguments) {
  WEIR_TRY(meter.Step());
  const Method method = FindMethod(self, name);
  if (method == nullptr) {
    return TemplateError(fmt::format("'{} object' has no method '{}'", self.type_name(), name));
  }
  return method(meter, self, arguments);
}

}  // namespace weir::jinja
