// Statements; evaluator.cc has expressions.
#include <algorithm>
#include <utility>

#include "jinja/evaluator.h"
#include "jinja/operators.h"
#include "jinja/scope_guard.h"
#include "jinja/write.h"

namespace weir::jinja {

Evaluator::Evaluator(Meter& meter, Functions functions)
    : meter_(meter), functions_(std::move(functions)), scope_(std::make_shared<Scope>()) {
  const auto define = [&](std::string_view name) {
    auto function = std::make_shared<Callable>();
    function->name = name;
    Define(name, Value(Value::CallablePtr(std::move(function))));
  };
  for (std::string_view name : {"range", "dict", "namespace", "raise_exception"}) define(name);
  if (functions_.today) define("strftime_now");
}

Evaluator::~Evaluator() {
  for (const auto& space : namespaces_) space->attributes.clear();
}

Result<Text> Evaluator::Run(const Body& body) {
  Text output;
  output_ = &output;
  // Assignments of the template do not touch what it was given.
  const ScopeGuard scope(*this);
  WEIR_TRY(Execute(body));
  return output;
}

Result<void> Evaluator::Enter() {
  WEIR_TRY(meter_.Step());
  if (++depth_ <= meter_.limits().call_depth) return {};
  return TemplateError(fmt::format("nested deeper than {} calls", meter_.limits().call_depth));
}

Result<Evaluator::Flow> Evaluator::Execute(const Body& body) {
  for (const Statement& statement : body) {
    const uint32_t outer_depth = depth_;
    Result<Flow> flow = ExecuteOne(statement);
    depth_ = outer_depth;
    if (!flow && !std::exchange(is_located_, true)) {
      Error error = std::move(flow).error();
      error.message = fmt::format("template line {}: {}", statement.line, error.message);
      return tl::make_unexpected(std::move(error));
    }
    if (!flow || *flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::ExecuteOne(const Statement& statement) {
  WEIR_TRY(Enter());
  return std::visit([this](const auto& node) { return Visit(node); }, statement.node);
}

Result<void> Evaluator::Write(const Text& text) {
  WEIR_TRY(meter_.Allocate(text.Footprint()));
  output_->Append(text);
  if (output_->byte_count() <= meter_.limits().output_bytes) return {};
  return TemplateError(
      fmt::format("the output grows beyond {} bytes", meter_.limits().output_bytes));
}

Result<void> Evaluator::WriteValue(const Value& value) {
  if (const Text* text = value.text()) return Write(*text);
  return Write(WEIR_TRY(ToText(meter_, value)));
}

Result<Evaluator::Flow> Evaluator::Visit(const DataStatement& node) {
  WEIR_TRY(Write(*node.text.text()));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const OutputStatement& node) {
  const Value value = WEIR_TRY(Evaluate(*node.value));
  WEIR_TRY(WriteValue(value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const SetStatement& node) {
  Value value = WEIR_TRY(Evaluate(*node.value));
  WEIR_TRY(Assign(node.target, std::move(value)));
  return Flow::kNext;
}

Result<Text> Evaluator::Capture(const Body& body) {
  Text captured;
  Text* outer = std::exchange(output_, &captured);
  Result<Flow> flow = [&] {
    const ScopeGuard scope(*this);
    return Execute(body);
  }();
  output_ = outer;
  if (!flow) return tl::make_unexpected(std::move(flow).error());
  return captured;
}

Result<Value> Evaluator::ApplyFilter(const ExpressionPtr& filter, Text input) {
  if (filter == nullptr) return MakeText(meter_, std::move(input));
  const Text* outer = std::exchange(filter_input_, &input);
  Result<Value> value = Evaluate(*filter);
  filter_input_ = outer;
  return value;
}

Result<Evaluator::Flow> Evaluator::Visit(const SetBlockStatement& node) {
  Text captured = WEIR_TRY(Capture(node.body));
  Value value = WEIR_TRY(ApplyFilter(node.filter, std::move(captured)));
  WEIR_TRY(Assign(node.target, std::move(value)));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const FilterStatement& node) {
  Text captured = WEIR_TRY(Capture(node.body));
  const Value value = WEIR_TRY(ApplyFilter(node.filter, std::move(captured)));
  WEIR_TRY(WriteValue(value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const IfStatement& node) {
  for (const IfBranch& branch : node.branches) {
    if (WEIR_TRY(EvaluateTruth(*branch.condition))) return Execute(branch.body);
  }
  return Execute(node.otherwise);
}

// A scope and its variables cost about as much as so many nodes.
constexpr uint64_t kIterationSteps = 6;

// The items that pass the loop's own condition.
Result<std::shared_ptr<const std::vector<Value>>> Evaluator::LoopItems(const ForStatement& node) {
  const Value iterable = WEIR_TRY(Evaluate(*node.items));
  auto items = WEIR_TRY(ShareItems(meter_, iterable));
  if (node.condition == nullptr) return items;
  auto passing = std::make_shared<std::vector<Value>>();
  for (const Value& item : *items) {
    const ScopeGuard scope(*this);
    WEIR_TRY(Assign(node.target, item));
    if (WEIR_TRY(EvaluateTruth(*node.condition))) passing->push_back(item);
  }
  WEIR_TRY(meter_.Allocate(passing->size() * sizeof(Value)));
  return std::shared_ptr<const std::vector<Value>>(std::move(passing));
}

Result<Evaluator::Flow> Evaluator::Visit(const ForStatement& node) {
  auto loop = std::make_shared<Loop>();
  loop->items = WEIR_TRY(LoopItems(node));
  const std::vector<Value>& items = *loop->items;
  if (items.empty()) {
    const ScopeGuard scope(*this);
    return Execute(node.otherwise);
  }
  WEIR_TRY(meter_.Step(items.size() / 4));
  for (const Value& item : items) loop->depth = std::max(loop->depth, item.depth() + 1);
  if (loop->depth > meter_.limits().value_depth) return TemplateError("values nested too deep");
  const Value loop_value{Value::LoopPtr(loop)};
  for (size_t i = 0; i < items.size(); ++i) {
    loop->position = i;
    WEIR_TRY(meter_.Step(kIterationSteps));
    const ScopeGuard scope(*this);
    scope_->variables["loop"] = loop_value;
    WEIR_TRY(Assign(node.target, items[i]));
    if (WEIR_TRY(Execute(node.body)) == Flow::kBreak) break;
  }
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const MacroStatement& node) {
  auto macro = std::make_shared<Callable>();
  macro->kind = CallableKind::kMacro;
  macro->name = node.name;
  macro->macro = &node;
  macro->scope = scope_;
  WEIR_TRY(meter_.Allocate(sizeof(Callable)));
  scope_->variables[node.name] = Value(Value::CallablePtr(std::move(macro)));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const CallStatement& node) {
  const Value callee = WEIR_TRY(Evaluate(*node.call->children[0]));
  Arguments arguments = WEIR_TRY(EvaluateArguments(node.call->arguments));
  auto caller = std::make_shared<Callable>();
  caller->kind = CallableKind::kMacro;
  caller->name = "caller";
  caller->macro = &node.caller;
  caller->scope = scope_;
  arguments.named.emplace_back("caller", Value(Value::CallablePtr(std::move(caller))));
  const Value value = WEIR_TRY(Call(callee, std::move(arguments)));
  WEIR_TRY(WriteValue(value));
  return Flow::kNext;
}

Result<Evaluator::Flow> Evaluator::Visit(const WithStatement& node) {
  std::vector<Value> values;  // all see the outer scope
  for (const auto& variable : node.variables)
    values.push_back(WEIR_TRY(Evaluate(*variable.second)));
  const ScopeGuard scope(*this);
  for (size_t i = 0; i < values.size(); ++i) {
    WEIR_TRY(Assign(node.variables[i].first, std::move(values[i])));
  }
  return Execute(node.body);
}

Result<Evaluator::Flow> Evaluator::Visit(const GenerationStatement& node) {
  const ScopeGuard scope(*this);
  return Execute(node.body);
}

Result<void> Evaluator::Assign(const Target& target, Value value) {
  if (!target.attribute.empty()) return AssignAttribute(target, std::move(value));
  if (target.unpack.empty()) {
    scope_->variables[target.name] = std::move(value);
    return {};
  }
  std::vector<Value> items = WEIR_TRY(ToItems(meter_, value));
  if (items.size() != target.unpack.size()) {
    return TemplateError(
        fmt::format("{} values for {} variables", items.size(), target.unpack.size()));
  }
  for (size_t i = 0; i < items.size(); ++i) {
    WEIR_TRY(Assign(target.unpack[i], std::move(items[i])));
  }
  return {};
}

Result<void> Evaluator::AssignAttribute(const Target& target, Value value) {
  Expression name;
  name.name = target.name;
  const Value object = WEIR_TRY(EvaluateName(name));
  Namespace* space = object.name_space();
  if (space == nullptr) {
    return TemplateError(fmt::format("'{}' is no namespace: its attribute '{}' cannot be set",
                                     target.name, target.attribute));
  }
  if (target.attribute.starts_with('_')) {
    return TemplateError(fmt::format("namespace attribute '{}' begins with '_'", target.attribute));
  }
  space->attributes[target.attribute] = std::move(value);
  return {};
}

}  // namespace weir::jinja
