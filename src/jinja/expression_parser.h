// The expression half of the parser; parser.cc builds statements on it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "jinja/ast.h"
#include "jinja/lexer.h"

namespace weir::jinja {

class ExpressionParser {
 public:
  explicit ExpressionParser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

 protected:
  enum class Conditional : uint8_t { kAllowed, kForbidden };

  // One expression, or several with commas between: a tuple. `end_name` ends it too.
  Result<ExpressionPtr> ParseTuple(Conditional conditional, std::string_view end_name = {});
  Result<ExpressionPtr> ParseExpression(Conditional conditional = Conditional::kAllowed);
  // Behind "|": name and arguments, for each filter of a chain. `input` may be null.
  Result<ExpressionPtr> ParseFilterChain(ExpressionPtr input, bool has_pipe);
  Result<Target> ParseTarget(bool allows_attribute, std::string_view end_name);
  Result<std::string> ParseName(std::string_view what);

  [[nodiscard]] const Token& current() const { return tokens_[at_]; }
  [[nodiscard]] const Token& following() const {
    return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_];
  }
  void Advance() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool SkipOperator(std::string_view op);
  bool SkipName(std::string_view name);
  Result<void> ExpectOperator(std::string_view op);
  [[nodiscard]] tl::unexpected<Error> FailHere(std::string_view what) const;
  [[nodiscard]] tl::unexpected<Error> Unexpected(std::string_view wanted) const;

  // Deepest nesting of expressions and statements.
  static constexpr uint32_t kMaxDepth = 250;
  Result<void> Enter();
  void Leave() { --depth_; }

  std::vector<std::string> names_read_;  // of variables, for macros' hidden parameters

 private:
  Result<ExpressionPtr> ParseConditional();
  Result<ExpressionPtr> ParseOr();
  Result<ExpressionPtr> ParseAnd();
  Result<ExpressionPtr> ParseNot();
  Result<ExpressionPtr> ParseComparison();
  Result<ExpressionPtr> ParseSum();
  Result<ExpressionPtr> ParseConcatenation();
  Result<ExpressionPtr> ParseProduct();
  Result<ExpressionPtr> ParsePower();
  Result<ExpressionPtr> ParseUnary(bool with_filters);
  Result<ExpressionPtr> ParsePrimary();
  Result<ExpressionPtr> ParseNamePrimary();
  Result<ExpressionPtr> ParseParenthesis();
  Result<ExpressionPtr> ParseListLiteral();
  Result<ExpressionPtr> ParseDictLiteral();
  Result<ExpressionPtr> ParsePostfix(ExpressionPtr value);
  Result<ExpressionPtr> ParseDot(ExpressionPtr value);
  Result<ExpressionPtr> ParseSubscript(ExpressionPtr value);
  Result<ExpressionPtr> ParseCall(ExpressionPtr value);
  Result<ExpressionPtr> ParseFiltersAndTests(ExpressionPtr value);
  Result<ExpressionPtr> ParseTest(ExpressionPtr value);
  Result<CallArguments> ParseArguments();
  [[nodiscard]] bool StartsTestArgument() const;

  [[nodiscard]] ExpressionPtr Node(ExpressionKind kind) const;
  // Sets the depth from the children and checks it.
  Result<ExpressionPtr> Finish(ExpressionPtr node) const;
  Result<ExpressionPtr> Binary(ExpressionKind kind, ExpressionPtr left, ExpressionPtr right) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
};

}  // namespace weir::jinja
