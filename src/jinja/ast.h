// The parsed template: expressions and statements.
//
// Depth is bounded by the parser, so that walks may recurse. Immutable once parsed; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/value.h"

namespace weir::jinja {

enum class ExpressionKind : uint8_t {
  kLiteral,      // literal
  kName,         // name
  kList,         // children
  kTuple,        // children
  kDict,         // children: key, value, key, value, ...
  kAttribute,    // children[0].name
  kItem,         // children[0][children[1]]
  kSlice,        // children[0][a:b:c]; a, b, c may be null
  kCall,         // children[0](arguments)
  kFilter,       // children[0]|name(arguments); null in a filter block
  kTest,         // children[0] is name(arguments)
  kNot,          // children[0]
  kNegate,       // children[0]
  kPlus,         // children[0]
  kAnd,          // children[0], children[1]
  kOr,           // children[0], children[1]
  kArithmetic,   // children[0] op children[1]
  kConcatenate,  // children
  kComparison,   // children[0] comparisons[0] children[1] comparisons[1] children[2] ...
  kConditional,  // children[0] if children[1] else children[2]; the last may be null
};

enum class ArithmeticOp : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kFloor, kModulo, kPower };
enum class ComparisonOp : uint8_t {
  kEqual,
  kUnequal,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kIn,
  kNotIn
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kLiteral;
  ArithmeticOp arithmetic = ArithmeticOp::kAdd;
  uint32_t line = 0;
  uint32_t depth = 1;
  std::string name;
  Value literal;
  std::vector<ExpressionPtr> children;
  std::vector<ComparisonOp> comparisons;
  CallArguments arguments;
};

// What `set` and `for` assign to.
struct Target {
  std::string name;
  std::string attribute;       // of a namespace; empty otherwise
  std::vector<Target> unpack;  // not empty: a tuple, and name is empty
};

struct Statement;
using Body = std::vector<Statement>;

struct DataStatement {
  Value text;
};
struct OutputStatement {
  ExpressionPtr value;
};
struct SetStatement {
  Target target;
  ExpressionPtr value;
};
struct SetBlockStatement {
  Target target;
  ExpressionPtr filter;  // may be null
  Body body;
};
struct IfBranch {
  ExpressionPtr condition;
  Body body;
};
struct IfStatement {
  std::vector<IfBranch> branches;
  Body otherwise;
};
struct ForStatement {
  Target target;
  ExpressionPtr items;
  ExpressionPtr condition;  // may be null
  Body body;
  Body otherwise;
};
struct Parameter {
  std::string name;
  ExpressionPtr default_value;  // may be null
};
struct MacroStatement {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
  bool takes_varargs = false;  // its body names `varargs`, `kwargs`
  bool takes_kwargs = false;
  bool takes_caller = false;
};
struct CallStatement {
  ExpressionPtr call;  // kCall
  MacroStatement caller;
};
struct FilterStatement {
  ExpressionPtr filter;
  Body body;
};
struct WithStatement {
  std::vector<std::pair<Target, ExpressionPtr>> variables;
  Body body;
};
// {% generation %}: marks what a model wrote, for training; here only a scope.
struct GenerationStatement {
  Body body;
};
struct BreakStatement {};
struct ContinueStatement {};

struct Statement {
  uint32_t line = 0;
  std::variant<DataStatement, OutputStatement, SetStatement, SetBlockStatement, IfStatement,
               ForStatement, MacroStatement, CallStatement, FilterStatement, WithStatement,
               GenerationStatement, BreakStatement, ContinueStatement>
      node;
};

}  // namespace weir::jinja
