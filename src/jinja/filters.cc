#include "jinja/filters.h"

#include <algorithm>
#include <array>
#include <span>

#include "jinja/case.h"
#include "jinja/filter_table.h"
#include "jinja/operators.h"
#include "jinja/write.h"

namespace weir::jinja {

namespace {

FilterFunction FindFilter(std::string_view name) {
  for (const auto table : {TextFilters(), NumberFilters(), ListFilters(), SelectionFilters()}) {
    for (const FilterEntry& entry : table) {
      if (entry.first == name) return entry.second;
    }
  }
  return nullptr;
}

// Tests without argument, on any value.
using PlainTest = bool (*)(const Value&);
constexpr std::array<std::pair<std::string_view, PlainTest>, 17> kPlainTests = {{
    {"defined", [](const Value& v) { return !v.is_undefined(); }},
    {"undefined", [](const Value& v) { return v.is_undefined(); }},
    {"none", [](const Value& v) { return v.is_none(); }},
    {"boolean", [](const Value& v) { return v.As<bool>() != nullptr; }},
    {"true", [](const Value& v) { return v.As<bool>() != nullptr && *v.As<bool>(); }},
    {"false", [](const Value& v) { return v.As<bool>() != nullptr && !*v.As<bool>(); }},
    {"integer",
     [](const Value& v) { return v.As<int64_t>() != nullptr || v.As<uint64_t>() != nullptr; }},
    {"float", [](const Value& v) { return v.As<double>() != nullptr; }},
    {"number", [](const Value& v) { return v.is_number(); }},
    {"string", [](const Value& v) { return v.text() != nullptr; }},
    {"mapping", [](const Value& v) { return v.dict() != nullptr; }},
    {"sequence",
     [](const Value& v) {
       const bool is_indexed = v.list() != nullptr && v.list()->kind <= ListKind::kRange;
       return v.text() != nullptr || v.dict() != nullptr || is_indexed || v.is_undefined();
     }},
    {"iterable",
     [](const Value& v) {
       return v.text() != nullptr || v.dict() != nullptr || v.list() != nullptr ||
              v.loop() != nullptr || v.is_undefined();
     }},
    {"callable", [](const Value& v) { return v.callable() != nullptr; }},
    {"escaped", [](const Value& v) { return v.text() != nullptr && v.text()->is_markup; }},
    {"lower",
     [](const Value& v) {
       return v.text() != nullptr && IsAllCase(v.text()->view(), LetterCase::kLower);
     }},
    {"upper",
     [](const Value& v) {
       return v.text() != nullptr && IsAllCase(v.text()->view(), LetterCase::kUpper);
     }},
}};

// Tests with one argument.
using ComparingTest = Result<bool> (*)(Meter&, const Value& input, const Value& argument);
constexpr auto kEqualTest = [](Meter& meter, const Value& a, const Value& b) {
  return Equal(meter, a, b);
};
constexpr auto kUnequalTest = [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
  return !WEIR_TRY(Equal(meter, a, b));
};
constexpr auto kLessTest = [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
  return WEIR_TRY(Compare(meter, a, b)) < 0;
};
constexpr auto kLessEqualTest = [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
  return WEIR_TRY(Compare(meter, a, b)) <= 0;
};
constexpr auto kGreaterTest = [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
  return WEIR_TRY(Compare(meter, a, b)) > 0;
};
constexpr auto kGreaterEqualTest = [](Meter& meter, const Value& a,
                                      const Value& b) -> Result<bool> {
  return WEIR_TRY(Compare(meter, a, b)) >= 0;
};
constexpr auto kInTest = [](Meter& meter, const Value& a, const Value& b) {
  return Contains(meter, b, a);
};

constexpr std::array<std::pair<std::string_view, ComparingTest>, 20> kComparingTests = {{
    {"eq", kEqualTest},
    {"equalto", kEqualTest},
    {"==", kEqualTest},
    {"ne", kUnequalTest},
    {"!=", kUnequalTest},
    {"lt", kLessTest},
    {"lessthan", kLessTest},
    {"<", kLessTest},
    {"le", kLessEqualTest},
    {"<=", kLessEqualTest},
    {"gt", kGreaterTest},
    {"greaterthan", kGreaterTest},
    {">", kGreaterTest},
    {"ge", kGreaterEqualTest},
    {">=", kGreaterEqualTest},
    {"in", kInTest},
    {"sameas",
     [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
       return a.type_name() == b.type_name() && WEIR_TRY(Equal(meter, a, b));
     }},
    {"divisibleby",
     [](Meter& meter, const Value& a, const Value& b) -> Result<bool> {
       return !WEIR_TRY(Arithmetic(meter, ArithmeticOp::kModulo, a, b)).IsTrue();
     }},
    {"filter",
     [](Meter&, const Value& a, const Value&) -> Result<bool> {
       return a.text() != nullptr && IsFilter(a.text()->view());
     }},
    {"test",
     [](Meter&, const Value& a, const Value&) -> Result<bool> {
       return a.text() != nullptr && IsTest(a.text()->view());
     }},
}};

template <class Table>
auto Find(const Table& table, std::string_view name) {
  return std::find_if(table.begin(), table.end(),
                      [&](const auto& entry) { return entry.first == name; });
}

bool IsParityTest(std::string_view name) { return name == "odd" || name == "even"; }

}  // namespace

bool IsFilter(std::string_view name) { return FindFilter(name) != nullptr; }

bool IsTest(std::string_view name) {
  return Find(kPlainTests, name) != kPlainTests.end() ||
         Find(kComparingTests, name) != kComparingTests.end() || IsParityTest(name);
}

Result<Value> CallFilter(Meter& meter, std::string_view name, const Value& input,
                         const Arguments& arguments) {
  WEIR_TRY(meter.Step());
  const FilterFunction filter = FindFilter(name);
  if (filter == nullptr) return TemplateError(fmt::format("unsupported filter '{}'", name));
  return filter(meter, input, arguments);
}

Result<bool> CallTest(Meter& meter, std::string_view name, const Value& input,
                      const Arguments& arguments) {
  WEIR_TRY(meter.Step());
  if (const auto* plain = Find(kPlainTests, name); plain != kPlainTests.end()) {
    WEIR_TRY(Bind(arguments, name, {}));
    if (input.text() != nullptr) WEIR_TRY(meter.Scan(input.text()->byte_count()));
    return plain->second(input);
  }
  if (IsParityTest(name)) {
    WEIR_TRY(Bind(arguments, name, {}));
    const Value two(int64_t{2});
    const bool is_odd = WEIR_TRY(Arithmetic(meter, ArithmeticOp::kModulo, input, two)).IsTrue();
    return is_odd == (name == "odd");
  }
  const auto* comparing = Find(kComparingTests, name);
  if (comparing == kComparingTests.end()) {
    return TemplateError(fmt::format("unsupported test '{}'", name));
  }
  const bool needs_none = name == "filter" || name == "test";
  const auto bound = WEIR_TRY(Bind(arguments, name, {"other"}));
  if (bound[0] == nullptr && !needs_none) {
    return TemplateError(fmt::format("test '{}' needs an argument", name));
  }
  return comparing->second(meter, input, bound[0] == nullptr ? Value() : *bound[0]);
}

}  // namespace weir::jinja
