// Arguments of a call, and what can be called.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace weir::jinja {

struct MacroStatement;
struct Scope;

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The values of `names` in order, null where absent. Fails, naming `callee`, if there are more or
// others.
Result<std::vector<const Value*>> Bind(const Arguments& arguments, std::string_view callee,
                                       std::initializer_list<std::string_view> names);

enum class CallableKind : uint8_t { kFunction, kMethod, kMacro };

struct Callable {
  CallableKind kind = CallableKind::kFunction;
  std::string name;
  Value self;                             // kMethod
  const MacroStatement* macro = nullptr;  // kMacro; owned by the template
  std::weak_ptr<Scope> scope;  // kMacro: where it was defined; weak, for scopes hold macros
};

// Whether a string, dict, list or loop has such a method, and its call.
[[nodiscard]] bool HasMethod(const Value& self, std::string_view name);
Result<Value> CallMethod(Meter& meter, const Value& self, std::string_view name,
                         const Arguments& arguments);

}  // namespace weir::jinja
