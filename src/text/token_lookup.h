// Finds tokens by text: exactly (TokenIndex) and as the next match in running text (TokenMatcher).
//
// Ownership: both refer to the texts they were given, which must outlive them. Threads: immutable
// once built.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace weir {

// A hash table from text to the first token that has it.
class TokenIndex {
 public:
  // Empty texts are left out.
  explicit TokenIndex(std::span<const std::string_view> texts);

  [[nodiscard]] std::optional<TokenId> Find(std::string_view text) const {
    if (text.size() > longest_bytes_) return std::nullopt;
    return FindHashed(text);
  }
  [[nodiscard]] size_t longest_bytes() const { return longest_bytes_; }

 private:
  struct Slot {
    uint32_t hash = 0;
    int32_t id = -1;  // -1: free
  };
  [[nodiscard]] std::optional<TokenId> FindHashed(std::string_view text) const;

  std::span<const std::string_view> texts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t longest_bytes_ = 0;
};

// A trie that finds the leftmost, then longest of a set of texts.
class TokenMatcher {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;
    TokenId token{0};
  };

  void Add(std::string_view text, TokenId token);  // empty texts and duplicates are ignored
  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }
  // The first match at or after `from`. Cost: text length times the longest partial match.
  [[nodiscard]] std::optional<Match> Next(std::string_view text, size_t from) const;

 private:
  struct Node {
    int32_t token = -1;  // -1: no text ends here
    uint32_t first_child = 0;
    uint32_t next_sibling = 0;
    uint8_t byte = 0;
  };
  [[nodiscard]] uint32_t Child(uint32_t node, uint8_t byte) const;

  std::vector<Node> nodes_ = std::vector<Node>(1);  // 0 is the root
  std::array<uint32_t, 256> roots_{};               // the root's children
};

}  // namespace weir
