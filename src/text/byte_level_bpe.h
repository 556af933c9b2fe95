// Byte-level byte-pair encoding (GPT-2 and its descendants): a ranked list of merges.
//
// Each word of the pre-tokeniser starts as its bytes' tokens; the adjacent pair of the best rank is
// joined first, the leftmost of equals. Bytes that the vocabulary lacks (SmolLM has no U+0004) are
// left out, as the reference does.
//
// Ownership: views into the vocabulary it was made from. Threads: immutable.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/merge.h"
#include "text/pre_tokenizer.h"
#include "text/token_lookup.h"
#include "text/vocabulary.h"

namespace weir {

// Merges by pair of tokens: an open-addressed table, at most half full.
class MergeTable {
 public:
  explicit MergeTable(size_t merge_count);
  // Of equal pairs the first added stays. At most `merge_count` may be added.
  void Add(int32_t left, int32_t right, MergedPair pair);
  [[nodiscard]] std::optional<MergedPair> Find(int32_t left, int32_t right) const;

 private:
  struct Slot {
    uint64_t key = 0;
    MergedPair pair{0, kNoToken};  // kNoToken: free
  };
  [[nodiscard]] size_t SlotOf(uint64_t key) const;  // the pair's own, or the free one it would take

  std::vector<Slot> slots_;
};

class ByteLevelEncoder {
 public:
  // Requires a checked vocabulary that outlives the encoder. kCorrupt for a merge that is not two
  // texts or whose texts or joined text are no tokens; merges that touch control tokens are left
  // out.
  static Result<ByteLevelEncoder> Create(const Vocabulary& vocabulary);

  // Appends the tokens of `text`: valid UTF-8 of less than 4 GiB.
  void Encode(std::string_view text, MergeWorkspace& workspace, std::vector<TokenId>& tokens) const;

 private:
  ByteLevelEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer);
  Result<void> AddMerge(uint32_t rank);
  void EncodeWord(std::string_view word, MergeWorkspace& workspace,
                  std::vector<TokenId>& tokens) const;
  [[nodiscard]] int32_t FindFormable(std::string_view text) const;

  const Vocabulary* vocabulary_;
  PreTokenizer pre_tokenizer_;
  TokenIndex index_;
  MergeTable merges_;
  std::array<int32_t, 256> byte_tokens_;
};

}  // namespace weir
