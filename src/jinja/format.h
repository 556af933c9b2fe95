// Python's two ways to fill strings: "%s" % x and "{}".format(x).
//
// User text keeps its origin. Formats beyond the plain ones are an Error that shows them.
#pragma once

#include "jinja/callable.h"

namespace weir::jinja {

// `values`: a tuple, or the one value.
Result<Value> FormatPercent(Meter& meter, const Text& format, const Value& values);
Result<Value> FormatBraces(Meter& meter, const Text& format, const Arguments& arguments);

}  // namespace weir::jinja
