// The methods of Python's str that chat templates use.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "jinja/callable.h"

namespace weir::jinja {

using TextMethod = Result<Value> (*)(Meter&, const Value& self, const Arguments& arguments);
using TextMethodEntry = std::pair<std::string_view, TextMethod>;

[[nodiscard]] std::span<const TextMethodEntry> TextMethods();

// A string argument, or an Error naming `method`.
Result<const Text*> TextArgument(const Value* argument, std::string_view method);

// split, rsplit, splitlines, partition, rpartition.
Result<Value> SplitMethod(Meter& meter, const Value& self, const Arguments& arguments);
Result<Value> RightSplitMethod(Meter& meter, const Value& self, const Arguments& arguments);
Result<Value> SplitLinesMethod(Meter& meter, const Value& self, const Arguments& arguments);
Result<Value> PartitionMethod(Meter& meter, const Value& self, const Arguments& arguments);
Result<Value> RightPartitionMethod(Meter& meter, const Value& self, const Arguments& arguments);

}  // namespace weir::jinja
