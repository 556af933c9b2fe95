// Filters that apply a test or a filter to each item.
#include <array>

#include "jinja/filter_table.h"
#include "jinja/filters.h"
#include "jinja/operators.h"

namespace weir::jinja {

namespace {

// What all of them make of None and other false values, even those that are no lists.
Result<Value> Nothing(Meter& meter) { return MakeList(meter, {}, ListKind::kIterator); }

Result<Value> MapAttribute(Meter& meter, const Value& input, const Arguments& arguments) {
  const auto bound = WEIR_TRY(Bind(arguments, "map", {"attribute", "default"}));
  if (!input.IsTrue()) return Nothing(meter);
  std::vector<Value> mapped;
  for (const Value& item : WEIR_TRY(ToItems(meter, input))) {
    Value value = WEIR_TRY(GetPath(meter, item, *bound[0]));
    const bool has_default = bound[1] != nullptr && !bound[1]->is_none();
    mapped.push_back(value.is_undefined() && has_default ? *bound[1] : std::move(value));
  }
  return MakeList(meter, std::move(mapped), ListKind::kIterator);
}

// The name in arguments[index], and the arguments behind it.
Result<std::string> TakeName(Arguments& arguments, size_t index, std::string_view filter) {
  if (arguments.positional.size() <= index || arguments.positional[index].text() == nullptr) {
    return TemplateError(fmt::format("'{}' needs a name", filter));
  }
  std::string name(arguments.positional[index].text()->view());
  arguments.positional.erase(arguments.positional.begin(),
                             arguments.positional.begin() + static_cast<ptrdiff_t>(index) + 1);
  return name;
}

Result<Value> Map(Meter& meter, const Value& input, const Arguments& arguments) {
  if (arguments.positional.empty() && !arguments.named.empty() &&
      (arguments.named[0].first == "attribute" || arguments.named.size() > 1)) {
    const auto bound = WEIR_TRY(Bind(arguments, "map", {"attribute", "default"}));
    if (bound[0] != nullptr) return MapAttribute(meter, input, arguments);
  }
  Arguments rest = arguments;
  const std::string name = WEIR_TRY(TakeName(rest, 0, "map"));
  if (!input.IsTrue()) return Nothing(meter);
  // No chain of maps: a filter that calls a filter could recurse without bound.
  if (!IsFilter(name) || name == "map") {
    return TemplateError(fmt::format("unsupported filter '{}' in 'map'", name));
  }
  std::vector<Value> mapped;
  for (const Value& item : WEIR_TRY(ToItems(meter, input))) {
    mapped.push_back(WEIR_TRY(CallFilter(meter, name, item, rest)));
  }
  return MakeList(meter, std::move(mapped), ListKind::kIterator);
}

enum class Keep : uint8_t { kPassing, kFailing };

Result<Value> Filtered(Meter& meter, const Value& input, const Arguments& arguments, Keep keep,
                       bool by_attribute) {
  if (!input.IsTrue()) return Nothing(meter);
  Arguments rest = arguments;
  Value path;
  if (by_attribute) {
    if (rest.positional.empty()) return TemplateError("an attribute name is missing");
    path = rest.positional.front();
    rest.positional.erase(rest.positional.begin());
  }
  std::string test;
  if (!rest.positional.empty()) {
    test = WEIR_TRY(TakeName(rest, 0, "select"));
    if (!IsTest(test)) return TemplateError(fmt::format("unsupported test '{}'", test));
  }
  std::vector<Value> kept;
  for (const Value& item : WEIR_TRY(ToItems(meter, input))) {
    const Value subject = by_attribute ? WEIR_TRY(GetPath(meter, item, path)) : item;
    const bool passes =
        test.empty() ? subject.IsTrue() : WEIR_TRY(CallTest(meter, test, subject, rest));
    if (passes == (keep == Keep::kPassing)) kept.push_back(item);
  }
  return MakeList(meter, std::move(kept), ListKind::kIterator);
}

Result<Value> Select(Meter& meter, const Value& input, const Arguments& arguments) {
  return Filtered(meter, input, arguments, Keep::kPassing, false);
}

Result<Value> Reject(Meter& meter, const Value& input, const Arguments& arguments) {
  return Filtered(meter, input, arguments, Keep::kFailing, false);
}

Result<Value> SelectAttribute(Meter& meter, const Value& input, const Arguments& arguments) {
  return Filtered(meter, input, arguments, Keep::kPassing, true);
}

Result<Value> RejectAttribute(Meter& meter, const Value& input, const Arguments& arguments) {
  return Filtered(meter, input, arguments, Keep::kFailing, true);
}

constexpr std::array<FilterEntry, 5> kSelectionFilters = {{{"map", Map},
                                                           {"select", Select},
                                                           {"reject", Reject},
                                                           {"selectattr", SelectAttribute},
                                                           {"rejectattr", RejectAttribute}}};

}  // namespace

std::span<const FilterEntry> SelectionFilters() { return kSelectionFilters; }

}  // namespace weir::jinja
