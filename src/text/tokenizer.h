// Text to tokens and back.
//
// Equal to Hugging Face `tokenizers` for the models it supports. Linear in the text (n log n at
// most). Threads: immutable after Create(); any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "text/prompt_part.h"
#include "text/vocabulary.h"

namespace weir {

// Whether texts of control tokens ("<|im_end|>") in the input become these tokens. User text never
// may; a chat template's own text must.
enum class SpecialTokens : uint8_t { kAsText, kParse };
enum class AddBos : uint8_t { kNo, kAsModelWants };

class Tokenizer {
 public:
  // Fails with kUnsupported naming the pre-tokeniser or model kind it does not know, kCorrupt if
  // the vocabulary contradicts itself.
  static Result<Tokenizer> Create(Vocabulary vocabulary);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Any bytes are accepted; invalid UTF-8 is encoded as U+FFFD would be (server input is checked
  // before).
  [[nodiscard]] std::vector<TokenId> Encode(std::string_view text, SpecialTokens special,
                                            AddBos add_bos) const;

  // The same for a prompt of several authors: control tokens come from the template's parts alone;
  // between them the text is one, whoever wrote it, as if it had been encoded whole.
  [[nodiscard]] std::vector<TokenId> Encode(const Prompt& prompt, AddBos add_bos) const;

  // The same, and for each part how many tokens end before its first byte. (About so many where
  // tokens do not spell the text: behind unknown characters.)
  struct EncodedParts {
    std::vector<TokenId> tokens;
    std::vector<uint32_t> tokens_before;
  };
  [[nodiscard]] EncodedParts EncodeParts(const Prompt& prompt, AddBos add_bos) const;

  // The bytes of one token in running text: possibly half a character; control tokens are empty
  // unless `special` is kParse.
  [[nodiscard]] std::string Piece(TokenId token, SpecialTokens special) const;

  // The text of a whole sequence, invalid UTF-8 replaced by U+FFFD.
  [[nodiscard]] std::string Decode(const std::vector<TokenId>& tokens, SpecialTokens special) const;

  [[nodiscard]] uint32_t vocab_size() const;
  [[nodiscard]] const Vocabulary& vocabulary() const;

  // Tokens that end an answer: eos, eot and control tokens known to end a turn ("<end_of_turn>",
  // ...).
  [[nodiscard]] const std::vector<TokenId>& end_tokens() const;

 private:
  struct State;
  explicit Tokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
