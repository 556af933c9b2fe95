// Operators, subscripts and attributes of values, as Python has them.
//
// Integers are 64 bits wide; what leaves them is an Error. Threads: pure.
#pragma once

#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/value.h"

namespace weir::jinja {

Result<Value> Arithmetic(Meter& meter, ArithmeticOp op, const Value& left, const Value& right);
Result<Value> Negate(const Value& value);
Result<bool> Contains(Meter& meter, const Value& container, const Value& item);
// left ~ right ~ ...: the values as text, end to end.
Result<Value> Concatenate(Meter& meter, const std::vector<Value>& values);
// `text`, HTML characters replaced, as markup.
[[nodiscard]] Text Escaped(const Text& text);
// Both ends as text; plain text is escaped if the other is markup.
[[nodiscard]] Text JoinTwo(const Text& left, const Text& right);

// object.name: a method, else an entry. Undefined if absent; an Error if `object` is undefined.
Result<Value> GetAttribute(Meter& meter, const Value& object, std::string_view name);
// object[key]: an entry, else a method.
Result<Value> GetItem(Meter& meter, const Value& object, const Value& key);
// object["a.b.0"] of filters: each part in turn.
Result<Value> GetPath(Meter& meter, const Value& object, const Value& path);
// object[start:stop:step]; undefined or None bounds are absent.
Result<Value> Slice(Meter& meter, const Value& object, const Value& start, const Value& stop,
                    const Value& step);

}  // namespace weir::jinja
