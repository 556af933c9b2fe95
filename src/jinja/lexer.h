// Template source to tokens, with Jinja's rules for white space.
//
// As Python's jinja2 with trim_blocks and lstrip_blocks: a block tag eats the newline behind it and
// the indent before it; "-" eats all white space on its side, "+" keeps it; the template's last
// newline is dropped; comments vanish; {% raw %} becomes data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::jinja {

enum class TokenType : uint8_t {
  kData,           // text between tags
  kVariableBegin,  // {{
  kVariableEnd,
  kBlockBegin,  // {%
  kBlockEnd,
  kName,
  kString,  // text: the unescaped value
  kInteger,
  kFloat,
  kOperator,  // text: the operator
  kEnd,       // of the template
};

struct Token {
  TokenType type;
  uint32_t line;  // from 1
  std::string text;
  int64_t integer = 0;
  double real = 0;

  [[nodiscard]] bool IsName(std::string_view name) const {
    return type == TokenType::kName && text == name;
  }
  [[nodiscard]] bool IsOperator(std::string_view op) const {
    return type == TokenType::kOperator && text == op;
  }
};

// Ends with one kEnd. Fails naming the line.
Result<std::vector<Token>> Tokenize(std::string_view source);

// "template line 3: what".
[[nodiscard]] tl::unexpected<Error> SyntaxError(uint32_t line, std::string_view what);

}  // namespace weir::jinja
