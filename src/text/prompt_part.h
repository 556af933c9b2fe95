// A stretch of a rendered prompt, and who wrote it.
//
// Control tokens may come from template text only: "<|im_end|>" typed by a user stays ten
// characters of text. A tokenizer cuts parts with `parse_special` at control tokens and then
// encodes what is left as *one* text across part borders (a merge may span template and user text).
#pragma once

#include <string>
#include <vector>

namespace weir {

struct PromptPart {
  std::string text;            // never empty
  bool parse_special = false;  // written by the template, not by a user

  bool operator==(const PromptPart&) const = default;
};

// Neighbours differ in `parse_special`.
using Prompt = std::vector<PromptPart>;

}  // namespace weir
