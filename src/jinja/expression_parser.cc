#include "jinja/expression_parser.h"

#include <algorithm>
#include <utility>

#include "jinja/filters.h"

namespace weir::jinja {

namespace {

std::string Describe(const Token& token) {
  switch (token.type) {
    case TokenType::kName:
    case TokenType::kOperator:
      return fmt::format("'{}'", token.text);
    case TokenType::kString:
      return "a string";
    case TokenType::kInteger:
    case TokenType::kFloat:
      return "a number";
    case TokenType::kData:
      return "text";
    case TokenType::kVariableBegin:
      return "'{{'";
    case TokenType::kBlockBegin:
      return "'{%'";
    case TokenType::kVariableEnd:
      return "'}}'";
    case TokenType::kBlockEnd:
      return "'%}'";
    case TokenType::kEnd:
      break;
  }
  return "the end of the template";
}

}  // namespace

tl::unexpected<Error> ExpressionParser::FailHere(std::string_view what) const {
  return SyntaxError(current().line, what);
}

tl::unexpected<Error> ExpressionParser::Unexpected(std::string_view wanted) const {
  return FailHere(fmt::format("expected {}, found {}", wanted, Describe(current())));
}

bool ExpressionParser::SkipOperator(std::string_view op) {
  if (!current().IsOperator(op)) return false;
  Advance();
  return true;
}

bool ExpressionParser::SkipName(std::string_view name) {
  if (!current().IsName(name)) return false;
  Advance();
  return true;
}

Result<void> ExpressionParser::ExpectOperator(std::string_view op) {
  if (!SkipOperator(op)) return Unexpected(fmt::format("'{}'", op));
  return {};
}

Result<std::string> ExpressionParser::ParseName(std::string_view what) {
  if (current().type != TokenType::kName) return Unexpected(what);
  std::string name = current().text;
  Advance();
  return name;
}

Result<void> ExpressionParser::Enter() {
  if (++depth_ <= kMaxDepth) return {};
  return FailHere(fmt::format("nested deeper than {}", kMaxDepth));
}

ExpressionPtr ExpressionParser::Node(ExpressionKind kind) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = current().line;
  return node;
}

Result<ExpressionPtr> ExpressionParser::Finish(ExpressionPtr node) const {
  uint32_t deepest = 0;
  const auto visit = [&](const ExpressionPtr& child) {
    if (child != nullptr) deepest = std::max(deepest, child->depth);
  };
  for (const auto& child : node->children) visit(child);
  for (const auto& argument : node->arguments.positional) visit(argument);
  for (const auto& argument : node->arguments.named) visit(argument.second);
  node->depth = deepest + 1;
  if (node->depth > kMaxDepth) {
    return SyntaxError(node->line, fmt::format("expression nested deeper than {}", kMaxDepth));
  }
  return node;
}

Result<ExpressionPtr> ExpressionParser::Binary(ExpressionKind kind, ExpressionPtr left,
                                               ExpressionPtr right) const {
  auto node = Node(kind);
  node->line = left->line;
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseTuple(Conditional conditional,
                                                   std::string_view end_name) {
  const auto is_end = [&] {
    return current().type == TokenType::kVariableEnd || current().type == TokenType::kBlockEnd ||
           current().IsOperator(")") || (!end_name.empty() && current().IsName(end_name));
  };
  if (is_end()) return Unexpected("an expression");
  ExpressionPtr first = WEIR_TRY(ParseExpression(conditional));
  if (!current().IsOperator(",")) return first;
  auto tuple = Node(ExpressionKind::kTuple);
  tuple->children.push_back(std::move(first));
  while (SkipOperator(",")) {
    if (is_end()) break;
    tuple->children.push_back(WEIR_TRY(ParseExpression(conditional)));
  }
  return Finish(std::move(tuple));
}

Result<ExpressionPtr> ExpressionParser::ParseExpression(Conditional conditional) {
  WEIR_TRY(Enter());
  auto value = WEIR_TRY(conditional == Conditional::kAllowed ? ParseConditional() : ParseOr());
  Leave();
  return value;
}

Result<ExpressionPtr> ExpressionParser::ParseConditional() {
  ExpressionPtr value = WEIR_TRY(ParseOr());
  while (SkipName("if")) {
    auto node = Node(ExpressionKind::kConditional);
    node->children.push_back(std::move(value));
    node->children.push_back(WEIR_TRY(ParseOr()));
    ExpressionPtr otherwise;
    if (SkipName("else")) otherwise = WEIR_TRY(ParseExpression());
    node->children.push_back(std::move(otherwise));
    value = WEIR_TRY(Finish(std::move(node)));
  }
  return value;
}

Result<ExpressionPtr> ExpressionParser::ParseOr() {
  ExpressionPtr left = WEIR_TRY(ParseAnd());
  while (SkipName("or")) {
    ExpressionPtr right = WEIR_TRY(ParseAnd());
    left = WEIR_TRY(Binary(ExpressionKind::kOr, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseAnd() {
  ExpressionPtr left = WEIR_TRY(ParseNot());
  while (SkipName("and")) {
    ExpressionPtr right = WEIR_TRY(ParseNot());
    left = WEIR_TRY(Binary(ExpressionKind::kAnd, std::move(left), std::move(right)));
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseNot() {
  if (!current().IsName("not")) return ParseComparison();
  WEIR_TRY(Enter());
  auto node = Node(ExpressionKind::kNot);
  Advance();
  node->children.push_back(WEIR_TRY(ParseNot()));
  Leave();
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseComparison() {
  static constexpr std::pair<std::string_view, ComparisonOp> kOperators[] = {
      {"==", ComparisonOp::kEqual},  {"!=", ComparisonOp::kUnequal},
      {"<", ComparisonOp::kLess},    {"<=", ComparisonOp::kLessEqual},
      {">", ComparisonOp::kGreater}, {">=", ComparisonOp::kGreaterEqual}};
  ExpressionPtr first = WEIR_TRY(ParseSum());
  auto node = Node(ExpressionKind::kComparison);
  node->line = first->line;
  node->children.push_back(std::move(first));
  while (true) {
    const auto* op =
        std::find_if(std::begin(kOperators), std::end(kOperators),
                     [&](const auto& known) { return current().IsOperator(known.first); });
    if (op != std::end(kOperators)) {
      node->comparisons.push_back(op->second);
      Advance();
    } else if (SkipName("in")) {
      node->comparisons.push_back(ComparisonOp::kIn);
    } else if (current().IsName("not") && following().IsName("in")) {
      Advance();
      Advance();
      node->comparisons.push_back(ComparisonOp::kNotIn);
    } else {
      break;
    }
    node->children.push_back(WEIR_TRY(ParseSum()));
  }
  if (node->comparisons.empty()) return std::move(node->children.front());
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseSum() {
  ExpressionPtr left = WEIR_TRY(ParseConcatenation());
  while (current().IsOperator("+") || current().IsOperator("-")) {
    const auto op = current().text == "+" ? ArithmeticOp::kAdd : ArithmeticOp::kSubtract;
    Advance();
    ExpressionPtr right = WEIR_TRY(ParseConcatenation());
    left = WEIR_TRY(Binary(ExpressionKind::kArithmetic, std::move(left), std::move(right)));
    left->arithmetic = op;
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseConcatenation() {
  ExpressionPtr first = WEIR_TRY(ParseProduct());
  if (!current().IsOperator("~")) return first;
  auto node = Node(ExpressionKind::kConcatenate);
  node->children.push_back(std::move(first));
  while (SkipOperator("~")) node->children.push_back(WEIR_TRY(ParseProduct()));
  return Finish(std::move(node));
}

Result<ExpressionPtr> ExpressionParser::ParseProduct() {
  ExpressionPtr left = WEIR_TRY(ParsePower());
  while (current().type == TokenType::kOperator) {
    const std::string& text = current().text;
    ArithmeticOp op = ArithmeticOp::kMultiply;
    if (text == "/") {
      op = ArithmeticOp::kDivide;
    } else if (text == "//") {
      op = ArithmeticOp::kFloor;
    } else if (text == "%") {
      op = ArithmeticOp::kModulo;
    } else if (text != "*") {
      break;
    }
    Advance();
    ExpressionPtr right = WEIR_TRY(ParsePower());
    left = WEIR_TRY(Binary(ExpressionKind::kArithmetic, std::move(left), std::move(right)));
    left->arithmetic = op;
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParsePower() {  // from the left, as in Jinja
  ExpressionPtr left = WEIR_TRY(ParseUnary(true));
  while (SkipOperator("**")) {
    ExpressionPtr right = WEIR_TRY(ParseUnary(true));
    left = WEIR_TRY(Binary(ExpressionKind::kArithmetic, std::move(left), std::move(right)));
    left->arithmetic = ArithmeticOp::kPower;
  }
  return left;
}

Result<ExpressionPtr> ExpressionParser::ParseUnary(bool with_filters) {
  ExpressionPtr value;
  if (current().IsOperator("-") || current().IsOperator("+")) {
    WEIR_TRY(Enter());
    auto node = Node(current().text == "-" ? ExpressionKind::kNegate : ExpressionKind::kPlus);
    Advance();
    node->children.push_back(WEIR_TRY(ParseUnary(false)));
    Leave();
    value = WEIR_TRY(Finish(std::move(node)));
  } else {
    value = WEIR_TRY(ParsePrimary());
  }
  value = WEIR_TRY(ParsePostfix(std::move(value)));
  return with_filters ? ParseFiltersAndTests(std::move(value))
                      : Result<ExpressionPtr>(std::move(value));
}

}  // namespace weir::jinja
