// SentencePiece's byte-pair encoding (Gemma, Llama 2): pieces with scores.
//
// Starts from characters and joins the adjacent pair whose joined text is the piece of the highest
// score, the leftmost of equals, until no joined text is a piece. User-defined pieces are found
// first, leftmost and longest, and never joined with anything. A character that is no piece becomes
// its bytes' tokens ("<0xE2>"), or, in a vocabulary without those, the unknown token (one for each
// run), or nothing.
//
// Ownership: views into the vocabulary it was made from. Threads: immutable.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/merge.h"
#include "text/token_lookup.h"
#include "text/vocabulary.h"

namespace weir {

// U+2581, which stands for a space in pieces.
inline constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";

// `text` with every space as kSpaceSymbol.
[[nodiscard]] std::string EscapeSpaces(std::string_view text);
[[nodiscard]] std::string UnescapeSpaces(std::string_view piece);

class SentencePieceEncoder {
 public:
  // Requires a checked vocabulary that outlives this.
  explicit SentencePieceEncoder(const Vocabulary& vocabulary);

  // Appends the tokens of `text`: valid UTF-8 of less than 4 GiB, spaces already escaped.
  void Encode(std::string_view text, MergeWorkspace& workspace, std::vector<TokenId>& tokens) const;

 private:
  void EncodeUnmarked(std::string_view text, MergeWorkspace& workspace,
                      std::vector<TokenId>& tokens) const;
  void EncodeJoined(std::string_view text, MergeWorkspace& workspace,
                    std::vector<TokenId>& tokens) const;
  void AppendUnknown(std::string_view character, std::vector<TokenId>& tokens) const;
  [[nodiscard]] int32_t FindPiece(std::string_view text) const;

  const Vocabulary& vocabulary_;
  TokenIndex index_;
  TokenMatcher user_defined_;
  std::vector<uint32_t> priorities_;  // by token: order of the scores, best first
  std::vector<uint64_t> joints_;      // bit set of hashed character pairs that some piece contains
  std::array<int32_t, 256> byte_tokens_;
  bool has_all_bytes_ = true;
};

}  // namespace weir
