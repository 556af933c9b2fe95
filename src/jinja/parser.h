// Tokens to statements, with the grammar of Python's jinja2 (extensions: loop controls,
// generation).
#pragma once

#include <string_view>

#include "base/result.h"
#include "jinja/ast.h"

namespace weir::jinja {

// Fails naming the line and the construct: a syntax error, or a statement, filter or test that is
// not built. `source` need not outlive the result.
Result<Body> Parse(std::string_view source);

}  // namespace weir::jinja
