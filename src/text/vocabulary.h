// What a tokenizer is made of, independent of the file it came from.
//
// Ownership: `texts` and `merges` are views. Whoever fills a Vocabulary (the GGUF reader, out of
// its mapping) keeps the bytes alive until Tokenizer::Create() returns, which copies what it needs;
// in Tokenizer::vocabulary() they point into the tokenizer's own arena and live as long as it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace weir {

enum class TokenizerKind : uint8_t { kSentencePiece, kByteLevelBpe };
// As GGUF's tokenizer.ggml.token_type, which counts from 1 in this order.
enum class TokenKind : uint8_t { kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

inline constexpr int32_t kMaxVocabularyTokens = 1 << 24;

struct Vocabulary {
  TokenizerKind kind = TokenizerKind::kSentencePiece;
  std::string pre_tokenizer;  // GGUF tokenizer.ggml.pre: "smollm", "llama-bpe", "qwen2", ...
  std::vector<std::string_view> texts;   // by token id, as in the file
  std::vector<float> scores;             // by token id: SentencePiece; empty otherwise
  std::vector<TokenKind> kinds;          // by token id; empty: all normal
  std::vector<std::string_view> merges;  // byte-level BPE: "left right", best first
  std::optional<TokenId> bos, eos, eot, unknown, padding;
  bool add_bos = false;
  bool add_eos = false;          // read, never applied: Encode() makes prompts
  bool add_space_prefix = true;  // SentencePiece: a space before the text
};

// kCorrupt, naming what contradicts what: no tokens, lists of different lengths, scores that are
// not finite, special ids out of range, byte tokens that name no byte. Empty and duplicate texts
// are fine (an empty text is never produced; of duplicates the first id is).
[[nodiscard]] Result<void> CheckVocabulary(const Vocabulary& vocabulary);

}  // namespace weir
