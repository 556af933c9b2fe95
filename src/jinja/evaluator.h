// Walks the statements of a template and writes its output.
//
// Scopes are Jinja's: `for`, macros, `with`, `call`, `filter` and block `set` open one, `if` does
// not; an assignment stays in the innermost scope, a read looks outwards.
//
// Ownership: borrows template and meter. Threads: one rendering each.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "jinja/ast.h"
#include "jinja/callable.h"
#include "jinja/functions.h"

namespace weir::jinja {

struct Scope {
  std::map<std::string_view, Value, std::less<>> variables;  // names live in template or input
  std::shared_ptr<Scope> outer;                              // null: the template's own
};

class Evaluator {
 public:
  Evaluator(Meter& meter, Functions functions);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // `name` must outlive the evaluator.
  void Define(std::string_view name, Value value) { scope_->variables[name] = std::move(value); }
  // The output. Errors name the line, save for raise_exception, which has the template's words.
  Result<Text> Run(const Body& body);

 private:
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  Result<Flow> Execute(const Body& body);
  Result<Flow> ExecuteOne(const Statement& statement);
  Result<Flow> Visit(const DataStatement& node);
  Result<Flow> Visit(const OutputStatement& node);
  Result<Flow> Visit(const SetStatement& node);
  Result<Flow> Visit(const SetBlockStatement& node);
  Result<Flow> Visit(const IfStatement& node);
  Result<Flow> Visit(const ForStatement& node);
  Result<Flow> Visit(const MacroStatement& node);
  Result<Flow> Visit(const CallStatement& node);
  Result<Flow> Visit(const FilterStatement& node);
  Result<Flow> Visit(const WithStatement& node);
  Result<Flow> Visit(const GenerationStatement& node);
  Result<Flow> Visit(const BreakStatement&) { return Flow::kBreak; }
  Result<Flow> Visit(const ContinueStatement&) { return Flow::kContinue; }

  Result<void> Write(const Text& text);
  Result<void> WriteValue(const Value& value);
  Result<void> Assign(const Target& target, Value value);
  Result<void> AssignAttribute(const Target& target, Value value);
  Result<std::shared_ptr<const std::vector<Value>>> LoopItems(const ForStatement& node);
  // What `body` writes, in a scope of its own.
  Result<Text> Capture(const Body& body);
  Result<Value> ApplyFilter(const ExpressionPtr& filter, Text input);

  Result<Value> Evaluate(const Expression& node);
  Result<Value> EvaluateKind(const Expression& node);
  Result<Value> EvaluateName(const Expression& node);
  Result<Value> EvaluateList(const Expression& node);
  Result<Value> EvaluateDict(const Expression& node);
  Result<Value> EvaluateItem(const Expression& node);
  Result<Value> EvaluateSlice(const Expression& node);
  Result<Value> EvaluateCall(const Expression& node);
  Result<Value> EvaluateFilter(const Expression& node);
  Result<Value> EvaluateTest(const Expression& node);
  Result<Value> EvaluateArithmetic(const Expression& node);
  Result<Value> EvaluateConcatenation(const Expression& node);
  Result<Value> EvaluateComparison(const Expression& node);
  Result<Value> EvaluateConditional(const Expression& node);
  Result<bool> EvaluateTruth(const Expression& node);
  Result<bool> CompareTwo(ComparisonOp op, const Value& left, const Value& right);
  Result<Arguments> EvaluateArguments(const CallArguments& arguments);

  Result<Value> Call(const Value& callee, Arguments arguments);
  Result<Value> CallMacro(const Callable& callable, Arguments arguments);
  Result<void> BindParameters(const MacroStatement& macro, Arguments& arguments);
  Result<void> BindHidden(const MacroStatement& macro, Arguments& arguments);
  Result<Value> MakeNamespace(const Arguments& arguments);

  // Opens a scope inside `outer` until destroyed.
  class ScopeGuard;
  Result<void> Enter();

  Meter& meter_;
  Functions functions_;
  std::shared_ptr<Scope> scope_;
  Text* output_ = nullptr;
  const Text* filter_input_ = nullptr;  // of the filter block or block set being closed
  uint32_t depth_ = 0;
  bool is_located_ = false;  // the error under way names its line, or shall not
  // All of them, to break cycles at the end: a namespace may hold itself.
  std::vector<Value::NamespacePtr> namespaces_;
};

}  // namespace weir::jinja
