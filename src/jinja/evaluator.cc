#include "jinja/evaluator.h"

#include <optional>
#include <utility>

#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/scope_guard.h"

namespace weir::jinja {

Result<Value> Evaluator::Evaluate(const Expression& node) {
  WEIR_TRY(Enter());
  Result<Value> value = EvaluateKind(node);
  --depth_;
  return value;
}

Result<Value> Evaluator::EvaluateKind(const Expression& node) {
  switch (node.kind) {
    case ExpressionKind::kLiteral:
      return node.literal;
    case ExpressionKind::kName:
      return EvaluateName(node);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return EvaluateList(node);
    case ExpressionKind::kDict:
      return EvaluateDict(node);
    case ExpressionKind::kAttribute:
      return GetAttribute(meter_, WEIR_TRY(Evaluate(*node.children[0])), node.name);
    case ExpressionKind::kItem:
      return EvaluateItem(node);
    case ExpressionKind::kSlice:
      return EvaluateSlice(node);
    case ExpressionKind::kCall:
      return EvaluateCall(node);
    case ExpressionKind::kFilter:
      return EvaluateFilter(node);
    case ExpressionKind::kTest:
      return EvaluateTest(node);
    case ExpressionKind::kNot:
      return Value(!WEIR_TRY(EvaluateTruth(*node.children[0])));
    case ExpressionKind::kNegate:
      return Negate(WEIR_TRY(Evaluate(*node.children[0])));
    case ExpressionKind::kPlus: {  // checks the type
      const Value value = WEIR_TRY(Evaluate(*node.children[0]));
      const Value negative = WEIR_TRY(Negate(value));
      return Negate(negative);
    }
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: {
      Value left = WEIR_TRY(Evaluate(*node.children[0]));
      const bool decides = left.IsTrue() == (node.kind == ExpressionKind::kOr);
      return decides ? Result<Value>(std::move(left)) : Evaluate(*node.children[1]);
    }
    case ExpressionKind::kArithmetic:
      return EvaluateArithmetic(node);
    case ExpressionKind::kConcatenate:
      return EvaluateConcatenation(node);
    case ExpressionKind::kComparison:
      return EvaluateComparison(node);
    case ExpressionKind::kConditional:
      return EvaluateConditional(node);
  }
  return TemplateError("unknown expression");
}

Result<bool> Evaluator::EvaluateTruth(const Expression& node) {
  return WEIR_TRY(Evaluate(node)).IsTrue();
}

Result<Value> Evaluator::EvaluateName(const Expression& node) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->outer.get()) {
    const auto found = scope->variables.find(node.name);
    if (found != scope->variables.end()) return found->second;
    WEIR_TRY(meter_.Step());
  }
  return Value::UndefinedBecause(fmt::format("'{}' is undefined", node.name));
}

Result<Value> Evaluator::EvaluateList(const Expression& node) {
  std::vector<Value> items;
  for (const auto& child : node.children) items.push_back(WEIR_TRY(Evaluate(*child)));
  return MakeList(meter_, std::move(items),
                  node.kind == ExpressionKind::kTuple ? ListKind::kTuple : ListKind::kList);
}

Result<Value> Evaluator::EvaluateDict(const Expression& node) {
  Dict dict;
  for (size_t i = 0; i + 1 < node.children.size(); i += 2) {
    Value key = WEIR_TRY(Evaluate(*node.children[i]));
    Value value = WEIR_TRY(Evaluate(*node.children[i + 1]));
    WEIR_TRY(dict.Set(std::move(key), std::move(value)));
  }
  return MakeDict(meter_, std::move(dict));
}

Result<Value> Evaluator::EvaluateItem(const Expression& node) {
  const Value object = WEIR_TRY(Evaluate(*node.children[0]));
  const Value key = WEIR_TRY(Evaluate(*node.children[1]));
  return GetItem(meter_, object, key);
}

Result<Value> Evaluator::EvaluateSlice(const Expression& node) {
  const Value object = WEIR_TRY(Evaluate(*node.children[0]));
  Value bounds[3] = {Value(None{}), Value(None{}), Value(None{})};
  for (size_t i = 0; i < 3; ++i) {
    if (node.children[i + 1] != nullptr) bounds[i] = WEIR_TRY(Evaluate(*node.children[i + 1]));
  }
  return Slice(meter_, object, bounds[0], bounds[1], bounds[2]);
}

Result<Arguments> Evaluator::EvaluateArguments(const CallArguments& arguments) {
  Arguments values;
  for (const auto& argument : arguments.positional) {
    values.positional.push_back(WEIR_TRY(Evaluate(*argument)));
  }
  for (const auto& [name, argument] : arguments.named) {
    values.named.emplace_back(name, WEIR_TRY(Evaluate(*argument)));
  }
  return values;
}

Result<Value> Evaluator::EvaluateCall(const Expression& node) {
  const Value callee = WEIR_TRY(Evaluate(*node.children[0]));
  Arguments arguments = WEIR_TRY(EvaluateArguments(node.arguments));
  return Call(callee, std::move(arguments));
}

Result<Value> Evaluator::Call(const Value& callee, Arguments arguments) {
  if (callee.is_undefined()) return TemplateError(UndefinedReason(callee));
  const Callable* callable = callee.callable();
  if (callable == nullptr) {
    return TemplateError(fmt::format("a '{}' cannot be called", callee.type_name()));
  }
  if (callable->kind == CallableKind::kMacro) return CallMacro(*callable, std::move(arguments));
  if (callable->kind == CallableKind::kMethod) {
    return CallMethod(meter_, callable->self, callable->name, arguments);
  }
  if (callable->name == "range") return CallRange(meter_, arguments);
  if (callable->name == "dict") return CallDict(meter_, arguments);
  if (callable->name == "namespace") return MakeNamespace(arguments);
  if (callable->name == "strftime_now") return CallStrftimeNow(functions_, arguments);
  const auto bound = WEIR_TRY(Bind(arguments, "raise_exception", {"message"}));
  is_located_ = true;  // the template's own words
  if (bound[0] == nullptr || bound[0]->text() == nullptr) return TemplateError("template refuses");
  return TemplateError(std::string(bound[0]->text()->view()));
}

Result<Value> Evaluator::MakeNamespace(const Arguments& arguments) {
  const Value dict = WEIR_TRY(CallDict(meter_, arguments));
  auto space = std::make_shared<Namespace>();
  for (const auto& [key, value] : dict.dict()->entries()) {
    const std::string_view name = key.text() == nullptr ? "_" : key.text()->view();
    if (name.starts_with('_')) return TemplateError("a namespace attribute begins with '_'");
    space->attributes.emplace(name, value);
  }
  namespaces_.push_back(space);
  return Value(std::move(space));
}

Result<Value> Evaluator::CallMacro(const Callable& callable, Arguments arguments) {
  WEIR_TRY(Enter());
  std::shared_ptr<Scope> outer = callable.scope.lock();
  if (outer == nullptr) {
    return TemplateError(fmt::format("macro '{}' is called outside its scope", callable.name));
  }
  const ScopeGuard scope(*this, std::move(outer));
  WEIR_TRY(BindParameters(*callable.macro, arguments));
  Text written;
  Text* outer_output = std::exchange(output_, &written);
  const Result<Flow> flow = Execute(callable.macro->body);
  output_ = outer_output;
  --depth_;
  if (!flow) return tl::make_unexpected(flow.error());
  return MakeText(meter_, std::move(written));
}

// Defines parameters and hidden variables in the current scope.
Result<void> Evaluator::BindParameters(const MacroStatement& macro, Arguments& arguments) {
  auto& variables = scope_->variables;
  const auto take_named = [&](std::string_view name) -> std::optional<Value> {
    for (size_t i = 0; i < arguments.named.size(); ++i) {
      if (arguments.named[i].first != name) continue;
      Value value = std::move(arguments.named[i].second);
      arguments.named.erase(arguments.named.begin() + static_cast<ptrdiff_t>(i));
      return value;
    }
    return std::nullopt;
  };
  for (size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    if (i < arguments.positional.size()) {
      variables[parameter.name] = std::move(arguments.positional[i]);
    } else if (auto named = take_named(parameter.name)) {
      variables[parameter.name] = std::move(*named);
    } else if (parameter.default_value != nullptr) {
      variables[parameter.name] = WEIR_TRY(Evaluate(*parameter.default_value));
    } else {
      variables[parameter.name] =
          Value::UndefinedBecause(fmt::format("parameter '{}' was not provided", parameter.name));
    }
  }
  return BindHidden(macro, arguments);
}

// `caller`, `kwargs` and `varargs`: what the parameters left.
Result<void> Evaluator::BindHidden(const MacroStatement& macro, Arguments& arguments) {
  auto& variables = scope_->variables;
  if (macro.takes_caller) {
    Value caller = Value::UndefinedBecause("no caller defined");
    for (size_t i = 0; i < arguments.named.size(); ++i) {
      if (arguments.named[i].first != "caller") continue;
      caller = std::move(arguments.named[i].second);
      arguments.named.erase(arguments.named.begin() + static_cast<ptrdiff_t>(i));
      break;
    }
    variables.try_emplace("caller", std::move(caller));
  }
  if (macro.takes_kwargs) {
    Dict rest;
    for (auto& [name, value] : arguments.named) {
      WEIR_TRY(rest.Set(Value::FromString(name), std::move(value)));
    }
    variables["kwargs"] = WEIR_TRY(MakeDict(meter_, std::move(rest)));
  } else if (!arguments.named.empty()) {
    return TemplateError(
        fmt::format("macro '{}' has no parameter '{}'", macro.name, arguments.named.front().first));
  }
  const size_t count = macro.parameters.size();
  if (macro.takes_varargs) {
    std::vector<Value> rest;
    for (size_t i = count; i < arguments.positional.size(); ++i) {
      rest.push_back(std::move(arguments.positional[i]));
    }
    variables["varargs"] = WEIR_TRY(MakeList(meter_, std::move(rest), ListKind::kTuple));
  } else if (arguments.positional.size() > count) {
    return TemplateError(fmt::format("macro '{}' takes {} arguments, not {}", macro.name, count,
                                     arguments.positional.size()));
  }
  return {};
}

Result<Value> Evaluator::EvaluateFilter(const Expression& node) {
  Value input;
  if (node.children[0] != nullptr) {
    input = WEIR_TRY(Evaluate(*node.children[0]));
  } else {
    input = WEIR_TRY(MakeText(meter_, *filter_input_));
  }
  return CallFilter(meter_, node.name, input, WEIR_TRY(EvaluateArguments(node.arguments)));
}

Result<Value> Evaluator::EvaluateTest(const Expression& node) {
  const Value input = WEIR_TRY(Evaluate(*node.children[0]));
  const Arguments arguments = WEIR_TRY(EvaluateArguments(node.arguments));
  return Value(WEIR_TRY(CallTest(meter_, node.name, input, arguments)));
}

Result<Value> Evaluator::EvaluateArithmetic(const Expression& node) {
  const Value left = WEIR_TRY(Evaluate(*node.children[0]));
  const Value right = WEIR_TRY(Evaluate(*node.children[1]));
  return Arithmetic(meter_, node.arithmetic, left, right);
}

Result<Value> Evaluator::EvaluateConcatenation(const Expression& node) {
  std::vector<Value> values;
  for (const auto& child : node.children) values.push_back(WEIR_TRY(Evaluate(*child)));
  return Concatenate(meter_, values);
}

Result<bool> Evaluator::CompareTwo(ComparisonOp op, const Value& left, const Value& right) {
  switch (op) {
    case ComparisonOp::kEqual:
      return Equal(meter_, left, right);
    case ComparisonOp::kUnequal:
      return !WEIR_TRY(Equal(meter_, left, right));
    case ComparisonOp::kIn:
      return Contains(meter_, right, left);
    case ComparisonOp::kNotIn:
      return !WEIR_TRY(Contains(meter_, right, left));
    case ComparisonOp::kLess:
      return WEIR_TRY(Compare(meter_, left, right)) < 0;
    case ComparisonOp::kLessEqual:
      return WEIR_TRY(Compare(meter_, left, right)) <= 0;
    case ComparisonOp::kGreater:
      return WEIR_TRY(Compare(meter_, left, right)) > 0;
    case ComparisonOp::kGreaterEqual:
      return WEIR_TRY(Compare(meter_, left, right)) >= 0;
  }
  return false;
}

Result<Value> Evaluator::EvaluateComparison(const Expression& node) {
  Value left = WEIR_TRY(Evaluate(*node.children[0]));
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = WEIR_TRY(Evaluate(*node.children[i + 1]));
    if (!WEIR_TRY(CompareTwo(node.comparisons[i], left, right))) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Evaluator::EvaluateConditional(const Expression& node) {
  if (WEIR_TRY(EvaluateTruth(*node.children[1]))) return Evaluate(*node.children[0]);
  if (node.children[2] != nullptr) return Evaluate(*node.children[2]);
  return Value::UndefinedBecause("an inline 'if' without 'else' was false");
}

}  // namespace weir::jinja
