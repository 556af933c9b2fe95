// Literals, names, subscripts, calls, filters and tests: the innermost level of expressions.
#include <utility>

#include "jinja/expression_parser.h"
#include "jinja/filters.h"

namespace weir::jinja {

Result<ExpressionPtr> ExpressionParser::ParsePrimary() {
  const Token& token = current();
  if (token.type == TokenType::kName) return ParseNamePrimary();
  if (token.IsOperator("(")) return ParseParenthesis();
  if (token.IsOperator("[")) return ParseListLiteral();
  if (token.IsOperator("{")) return ParseDictLiteral();
  auto node = Node(ExpressionKind::kLiteral);
  if (token.type == TokenType::kString) {
    std::string text;
    for (; current().type == TokenType::kString; Advance()) text += current().text;
    node->literal = Value::FromString(std::move(text));
    return node;
  }
  if (token.type == TokenType::kInteger) {
    node->literal = Value(token.integer);
  } else if (token.type == TokenType::kFloat) {
    node->literal = Value(token.real);
  } else {
    return Unexpected("an expression");
  }
  Advance();
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParseNamePrimary() {
  const std::string& name = current().text;
  auto node = Node(ExpressionKind::kLiteral);
  if (name == "true" || name == "True") {
    node->literal = Value(true);
  } else if (name == "false" || name == "False") {
    node->literal = Value(false);
  } else if (name == "none" || name == "None") {
    node->literal = Value(None{});
  } else {
    node->kind = ExpressionKind::kName;
    node->name = name;
    names_read_.push_back(name);
  }
  Advance();
  return node;
}

Result<ExpressionPtr> ExpressionParser::ParseParenthesis() {
  Advance();
  if (SkipOperator(")")) return Node(ExpressionKind::kTuple);
  ExpressionPtr inner = WEIR_TRY(ParseTuple(Conditional::kAllowed));
  WEIR_TRY(ExpectOperator(")"));
  return inner;
}

Result<ExpressionPtr> ExpressionParser::ParseListLiteral() {
  auto node = Node(ExpressionKind::kList);
  Advance();
  while (!current().IsOperator("]")) {
    node->children.push_back(WEIR_TRY(ParseExpression()));
    if (!SkipOperator(",")) break;
  }
  WEIR_TRY(ExpectOperator("]"));
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseDictLiteral() {
  auto node = Node(ExpressionKind::kDict);
  Advance();
  while (!current().IsOperator("}")) {
    node->children.push_back(WEIR_TRY(ParseExpression()));
    WEIR_TRY(ExpectOperator(":"));
    node->children.push_back(WEIR_TRY(ParseExpression()));
    if (!SkipOperator(",")) break;
  }
  WEIR_TRY(ExpectOperator("}"));
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParsePostfix(ExpressionPtr value) {
  while (true) {
    if (current().IsOperator(".")) {
      value = WEIR_TRY(ParseDot(std::move(value)));
    } else if (current().IsOperator("[")) {
      value = WEIR_TRY(ParseSubscript(std::move(value)));
    } else if (current().IsOperator("(")) {
      value = WEIR_TRY(ParseCall(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::ParseDot(ExpressionPtr value) {
  auto node = Node(ExpressionKind::kAttribute);
  Advance();
  node->children.push_back(std::move(value));
  if (current().type == TokenType::kInteger) {
    auto index = Node(ExpressionKind::kLiteral);
    index->literal = Value(current().integer);
    node->kind = ExpressionKind::kItem;
    node->children.push_back(std::move(index));
    Advance();
  } else {
    node->name = WEIR_TRY(ParseName("an attribute name"));
  }
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseSubscript(ExpressionPtr value) {
  auto node = Node(ExpressionKind::kItem);
  Advance();
  node->children.push_back(std::move(value));
  const auto ends_part = [&] { return current().IsOperator(":") || current().IsOperator("]"); };
  ExpressionPtr start;
  if (!ends_part()) start = WEIR_TRY(ParseExpression());
  if (!current().IsOperator(":")) {
    if (start == nullptr) return Unexpected("an index");
    node->children.push_back(std::move(start));
  } else {
    node->kind = ExpressionKind::kSlice;
    node->children.push_back(std::move(start));
    for (int part = 0; part < 2; ++part) {
      ExpressionPtr bound;
      if (SkipOperator(":") && !ends_part()) bound = WEIR_TRY(ParseExpression());
      node->children.push_back(std::move(bound));
    }
  }
  WEIR_TRY(ExpectOperator("]"));
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseCall(ExpressionPtr value) {
  auto node = Node(ExpressionKind::kCall);
  node->children.push_back(std::move(value));
  node->arguments = WEIR_TRY(ParseArguments());
  return Finish(std::move(node));
}

Result<CallArguments> ExpressionParser::ParseArguments() {
  CallArguments arguments;
  WEIR_TRY(ExpectOperator("("));
  while (!current().IsOperator(")")) {
    if (current().IsOperator("*") || current().IsOperator("**")) {
      return FailHere("unsupported '*' in a call");
    }
    if (current().type == TokenType::kName && following().IsOperator("=")) {
      std::string name = current().text;
      Advance();
      Advance();
      arguments.named.emplace_back(std::move(name), WEIR_TRY(ParseExpression()));
    } else if (!arguments.named.empty()) {
      return FailHere("positional argument behind a named one");
    } else {
      arguments.positional.push_back(WEIR_TRY(ParseExpression()));
    }
    if (!SkipOperator(",")) break;
  }
  WEIR_TRY(ExpectOperator(")"));
  return arguments;
}

Result<ExpressionPtr> ExpressionParser::ParseFiltersAndTests(ExpressionPtr value) {
  while (true) {
    if (current().IsOperator("|")) {
      value = WEIR_TRY(ParseFilterChain(std::move(value), true));
    } else if (current().IsName("is")) {
      value = WEIR_TRY(ParseTest(std::move(value)));
    } else if (current().IsOperator("(")) {
      value = WEIR_TRY(ParseCall(std::move(value)));
    } else {
      return value;
    }
  }
}

Result<ExpressionPtr> ExpressionParser::ParseFilterChain(ExpressionPtr input, bool has_pipe) {
  while (true) {
    if (has_pipe && !SkipOperator("|")) return input;
    has_pipe = true;
    auto node = Node(ExpressionKind::kFilter);
    node->name = WEIR_TRY(ParseName("a filter"));
    if (!IsFilter(node->name)) {
      return SyntaxError(node->line, fmt::format("unsupported filter '{}'", node->name));
    }
    node->children.push_back(std::move(input));
    if (current().IsOperator("(")) node->arguments = WEIR_TRY(ParseArguments());
    input = WEIR_TRY(Finish(std::move(node)));
  }
}

bool ExpressionParser::StartsTestArgument() const {
  switch (current().type) {
    case TokenType::kName:
      return !current().IsName("else") && !current().IsName("or") && !current().IsName("and");
    case TokenType::kString:
    case TokenType::kInteger:
    case TokenType::kFloat:
      return true;
    default:
      return current().IsOperator("[") || current().IsOperator("{");
  }
}

Result<ExpressionPtr> ExpressionParser::ParseTest(ExpressionPtr value) {
  auto node = Node(ExpressionKind::kTest);
  Advance();
  const bool is_negated = SkipName("not");
  node->name = WEIR_TRY(ParseName("a test"));
  if (!IsTest(node->name)) {
    return SyntaxError(node->line, fmt::format("unsupported test '{}'", node->name));
  }
  node->children.push_back(std::move(value));
  if (current().IsOperator("(")) {
    node->arguments = WEIR_TRY(ParseArguments());
  } else if (current().IsName("is")) {
    return FailHere("tests cannot be chained");
  } else if (StartsTestArgument()) {
    ExpressionPtr argument = WEIR_TRY(ParsePrimary());
    node->arguments.positional.push_back(WEIR_TRY(ParsePostfix(std::move(argument))));
  }
  ExpressionPtr test = WEIR_TRY(Finish(std::move(node)));
  if (!is_negated) return test;
  auto negation = Node(ExpressionKind::kNot);
  negation->children.push_back(std::move(test));
  return Finish(std::move(negation));
}

Result<Target> ExpressionParser::ParseTarget(bool allows_attribute, std::string_view end_name) {
  const auto parse_one = [&]() -> Result<Target> {
    Target target;
    if (SkipOperator("(")) {
      WEIR_TRY(Enter());
      target = WEIR_TRY(ParseTarget(allows_attribute, {}));
      Leave();
      WEIR_TRY(ExpectOperator(")"));
      return target;
    }
    static constexpr std::string_view kReserved[] = {"true", "false", "none",
                                                     "True", "False", "None"};
    for (std::string_view name : kReserved) {
      if (current().IsName(name)) return FailHere(fmt::format("cannot assign to '{}'", name));
    }
    target.name = WEIR_TRY(ParseName("a variable"));
    if (allows_attribute && SkipOperator(".")) {
      target.attribute = WEIR_TRY(ParseName("an attribute name"));
    }
    return target;
  };
  Target first = WEIR_TRY(parse_one());
  if (!current().IsOperator(",")) return first;
  Target tuple;
  tuple.unpack.push_back(std::move(first));
  while (SkipOperator(",")) {
    const bool is_end = current().IsOperator(")") || current().IsOperator("=") ||
                        current().type == TokenType::kBlockEnd ||
                        (!end_name.empty() && current().IsName(end_name));
    if (is_end) break;
    tuple.unpack.push_back(WEIR_TRY(parse_one()));
  }
  return tuple;
}

}  // namespace weir::jinja
