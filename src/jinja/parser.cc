#include "jinja/parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "jinja/expression_parser.h"

namespace weir::jinja {

namespace {

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Result<Body> ParseTemplate() { return ParseBody({}); }

 private:
  using EndNames = std::vector<std::string_view>;

  // Statements until "{% end": the parser then stands on that name, or at the template's end if
  // `ends` is empty.
  Result<Body> ParseBody(const EndNames& ends) {
    Body body;
    while (current().type != TokenType::kEnd) {
      const uint32_t line = current().line;
      if (current().type == TokenType::kData) {
        body.push_back({line, DataStatement{Value::FromString(current().text)}});
        Advance();
      } else if (current().type == TokenType::kVariableBegin) {
        Advance();
        body.push_back({line, OutputStatement{WEIR_TRY(ParseTuple(Conditional::kAllowed))}});
        if (current().type != TokenType::kVariableEnd) return Unexpected("'}}'");
        Advance();
      } else {
        Advance();  // kBlockBegin
        if (std::any_of(ends.begin(), ends.end(),
                        [&](std::string_view name) { return current().IsName(name); })) {
          return body;
        }
        WEIR_TRY(ParseStatement(line, body));
        WEIR_TRY(ExpectBlockEnd());
      }
    }
    if (!ends.empty()) return FailHere(fmt::format("missing '{}'", ends.back()));
    return body;
  }

  Result<void> ExpectBlockEnd() {
    if (current().type != TokenType::kBlockEnd) return Unexpected("'%}'");
    Advance();
    return {};
  }

  // The rest of the opening tag, then statements up to one of `ends`, whose name is left current.
  Result<Body> ParseInnerBody(const EndNames& ends) {
    SkipOperator(":");
    WEIR_TRY(ExpectBlockEnd());
    WEIR_TRY(Enter());
    Body body = WEIR_TRY(ParseBody(ends));
    Leave();
    return body;
  }
  Result<Body> ParseWholeBody(std::string_view end) {
    Body body = WEIR_TRY(ParseInnerBody({end}));
    Advance();
    return body;
  }

  Result<void> ParseStatement(uint32_t line, Body& body) {
    using Method = Result<Statement> (Parser::*)();
    static constexpr std::array<std::pair<std::string_view, Method>, 11> kStatements = {
        {{"if", &Parser::ParseIf},
         {"for", &Parser::ParseFor},
         {"set", &Parser::ParseSet},
         {"macro", &Parser::ParseMacro},
         {"call", &Parser::ParseCallBlock},
         {"filter", &Parser::ParseFilterBlock},
         {"with", &Parser::ParseWith},
         {"generation", &Parser::ParseGeneration},
         {"break", &Parser::ParseBreak},
         {"continue", &Parser::ParseContinue},
         {"print", &Parser::ParsePrint}}};
    const std::string name = WEIR_TRY(ParseName("a statement"));
    for (const auto& [known, method] : kStatements) {
      if (name != known) continue;
      Statement statement = WEIR_TRY((this->*method)());
      statement.line = line;
      body.push_back(std::move(statement));
      return {};
    }
    if (name.starts_with("end") || name == "else" || name == "elif") {
      return SyntaxError(line, fmt::format("unexpected '{}'", name));
    }
    return SyntaxError(line, fmt::format("unsupported statement '{}'", name));
  }

  Result<Statement> ParseIf() {
    IfStatement node;
    while (true) {
      IfBranch branch;
      branch.condition = WEIR_TRY(ParseTuple(Conditional::kForbidden));
      branch.body = WEIR_TRY(ParseInnerBody({"elif", "else", "endif"}));
      node.branches.push_back(std::move(branch));
      if (!SkipName("elif")) break;
    }
    if (SkipName("else")) node.otherwise = WEIR_TRY(ParseInnerBody({"endif"}));
    Advance();
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseFor() {
    ForStatement node;
    node.target = WEIR_TRY(ParseTarget(false, "in"));
    if (!SkipName("in")) return Unexpected("'in'");
    node.items = WEIR_TRY(ParseTuple(Conditional::kForbidden, "recursive"));
    if (SkipName("if")) node.condition = WEIR_TRY(ParseExpression());
    if (current().IsName("recursive")) return FailHere("unsupported 'recursive' loop");
    ++loop_depth_;
    node.body = WEIR_TRY(ParseInnerBody({"else", "endfor"}));
    --loop_depth_;
    if (SkipName("else")) node.otherwise = WEIR_TRY(ParseInnerBody({"endfor"}));
    Advance();
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseSet() {
    Target target = WEIR_TRY(ParseTarget(true, {}));
    if (SkipOperator("=")) {
      ExpressionPtr value = WEIR_TRY(ParseTuple(Conditional::kAllowed));
      return Statement{0, SetStatement{std::move(target), std::move(value)}};
    }
    SetBlockStatement node{std::move(target), nullptr, {}};
    if (current().IsOperator("|")) node.filter = WEIR_TRY(ParseFilterChain(nullptr, true));
    node.body = WEIR_TRY(ParseWholeBody("endset"));
    return Statement{0, std::move(node)};
  }

  Result<std::vector<Parameter>> ParseParameters() {
    std::vector<Parameter> parameters;
    WEIR_TRY(ExpectOperator("("));
    while (!current().IsOperator(")")) {
      if (!parameters.empty()) {
        WEIR_TRY(ExpectOperator(","));
        if (current().IsOperator(")")) break;
      }
      Parameter parameter{WEIR_TRY(ParseName("a parameter")), nullptr};
      if (SkipOperator("=")) {
        parameter.default_value = WEIR_TRY(ParseExpression());
      } else if (!parameters.empty() && parameters.back().default_value != nullptr) {
        return FailHere("parameter without default behind one with default");
      }
      parameters.push_back(std::move(parameter));
    }
    WEIR_TRY(ExpectOperator(")"));
    return parameters;
  }

  // The body of a macro or call block, whose loops are its own.
  Result<void> ParseMacroBody(MacroStatement& macro, std::string_view end) {
    const uint32_t outer_loop_depth = std::exchange(loop_depth_, 0);
    std::vector<std::string> outer_names = std::exchange(names_read_, {});
    macro.body = WEIR_TRY(ParseWholeBody(end));
    const auto reads = [&](std::string_view name) {
      return std::find(names_read_.begin(), names_read_.end(), name) != names_read_.end();
    };
    macro.takes_varargs = reads("varargs");
    macro.takes_kwargs = reads("kwargs");
    macro.takes_caller = reads("caller");
    names_read_ = std::move(outer_names);
    loop_depth_ = outer_loop_depth;
    return {};
  }

  Result<Statement> ParseMacro() {
    MacroStatement node;
    node.name = WEIR_TRY(ParseName("a macro name"));
    node.parameters = WEIR_TRY(ParseParameters());
    WEIR_TRY(ParseMacroBody(node, "endmacro"));
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseCallBlock() {
    CallStatement node;
    node.caller.name = "caller";
    if (current().IsOperator("(")) node.caller.parameters = WEIR_TRY(ParseParameters());
    node.call = WEIR_TRY(ParseExpression());
    if (node.call->kind != ExpressionKind::kCall) return FailHere("expected a call");
    WEIR_TRY(ParseMacroBody(node.caller, "endcall"));
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseFilterBlock() {
    FilterStatement node;
    node.filter = WEIR_TRY(ParseFilterChain(nullptr, false));
    node.body = WEIR_TRY(ParseWholeBody("endfilter"));
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseWith() {
    WithStatement node;
    while (current().type != TokenType::kBlockEnd) {
      if (!node.variables.empty()) WEIR_TRY(ExpectOperator(","));
      Target target;
      target.name = WEIR_TRY(ParseName("a variable"));
      WEIR_TRY(ExpectOperator("="));
      node.variables.emplace_back(std::move(target), WEIR_TRY(ParseExpression()));
    }
    node.body = WEIR_TRY(ParseWholeBody("endwith"));
    return Statement{0, std::move(node)};
  }

  Result<Statement> ParseGeneration() {
    return Statement{0, GenerationStatement{WEIR_TRY(ParseWholeBody("endgeneration"))}};
  }

  Result<Statement> ParseBreak() {
    if (loop_depth_ == 0) return FailHere("'break' outside a loop");
    return Statement{0, BreakStatement{}};
  }

  Result<Statement> ParseContinue() {
    if (loop_depth_ == 0) return FailHere("'continue' outside a loop");
    return Statement{0, ContinueStatement{}};
  }

  Result<Statement> ParsePrint() {
    return Statement{0, OutputStatement{WEIR_TRY(ParseExpression())}};
  }

  uint32_t loop_depth_ = 0;
};

}  // namespace

Result<Body> Parse(std::string_view source) {
  return Parser(WEIR_TRY(Tokenize(source))).ParseTemplate();
}

}  // namespace weir::jinja
