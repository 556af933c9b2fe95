// What a tokenizer is made of, independent of the file it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"

namespace weir {

enum class TokenizerKind : uint8_t { kSentencePiece, kByteLevelBpe };
enum class TokenKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::kSentencePiece;
  std::string pre_tokenizer;        // GGUF tokenizer.ggml.pre: "smollm", "llama-bpe", "qwen2", ...
  std::vector<std::string> texts;   // by token id, as in the file
  std::vector<float> scores;        // SentencePiece; empty otherwise
  std::vector<TokenKind> kinds;     // by token id
  std::vector<std::string> merges;  // byte-level BPE: "left right", best first
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = true;  // SentencePiece: a space before the text
};

}  // namespace weir
