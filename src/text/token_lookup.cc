#include "text/token_lookup.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace weir {
namespace {

uint32_t HashText(std::string_view text) {
  return static_cast<uint32_t>(std::hash<std::string_view>{}(text));
}

}  // namespace

TokenIndex::TokenIndex(std::span<const std::string_view> texts)
    : texts_(texts), slots_(std::bit_ceil(texts.size() * 2 + 2)) {
  const size_t mask = slots_.size() - 1;
  for (size_t id = 0; id < texts.size(); ++id) {
    if (texts[id].empty()) continue;
    const uint32_t hash = HashText(texts[id]);
    size_t at = hash & mask;
    while (slots_[at].id >= 0 &&
           (slots_[at].hash != hash || texts[static_cast<size_t>(slots_[at].id)] != texts[id])) {
      at = (at + 1) & mask;
    }
    if (slots_[at].id >= 0) continue;
    slots_[at] = {hash, static_cast<int32_t>(id)};
    longest_bytes_ = std::max(longest_bytes_, texts[id].size());
  }
}

std::optional<TokenId> TokenIndex::FindHashed(std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  const uint32_t hash = HashText(text);
  for (size_t at = hash & mask; slots_[at].id >= 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && texts_[static_cast<size_t>(slots_[at].id)] == text) {
      return TokenId(slots_[at].id);
    }
  }
  return std::nullopt;
}

uint32_t TokenMatcher::Child(uint32_t node, uint8_t byte) const {
  if (node == 0) return roots_[byte];
  uint32_t child = nodes_[node].first_child;
  while (child != 0 && nodes_[child].byte != byte) child = nodes_[child].next_sibling;
  return child;
}

void TokenMatcher::Add(std::string_view text, TokenId token) {
  if (text.empty()) return;
  uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    uint32_t child = Child(node, byte);
    if (child == 0) {
      child = static_cast<uint32_t>(nodes_.size());
      if (node == 0) {
        nodes_.push_back({-1, 0, 0, byte});
        roots_[byte] = child;
      } else {
        nodes_.push_back({-1, 0, nodes_[node].first_child, byte});
        nodes_[node].first_child = child;
      }
    }
    node = child;
  }
  if (nodes_[node].token < 0) nodes_[node].token = token.value();
}

std::optional<TokenMatcher::Match> TokenMatcher::Next(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    uint32_t node = roots_[static_cast<uint8_t>(text[begin])];
    std::optional<Match> longest;
    for (size_t end = begin + 1; node != 0; ++end) {
      if (nodes_[node].token >= 0) longest = {begin, end, TokenId(nodes_[node].token)};
      if (end == text.size()) break;
      node = Child(node, static_cast<uint8_t>(text[end]));
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace weir
