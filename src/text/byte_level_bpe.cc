#include "text/byte_level_bpe.h"

#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "text/byte_token.h"

namespace weir {
namespace {

uint64_t PairKey(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

bool IsFormable(TokenKind kind) {
  return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined;
}

}  // namespace

MergeTable::MergeTable(size_t merge_count) : slots_(std::bit_ceil(merge_count * 2 + 2)) {}

size_t MergeTable::SlotOf(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t at = (key * 0x9E37'79B9'7F4A'7C15U) >> 32 & mask;
  while (slots_[at].pair.token != kNoToken && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

void MergeTable::Add(int32_t left, int32_t right, MergedPair pair) {
  const uint64_t key = PairKey(left, right);
  Slot& slot = slots_[SlotOf(key)];
  if (slot.pair.token == kNoToken) slot = {key, pair};
}

std::optional<MergedPair> MergeTable::Find(int32_t left, int32_t right) const {
  const Slot& slot = slots_[SlotOf(PairKey(left, right))];
  if (slot.pair.token == kNoToken) return std::nullopt;
  return slot.pair;
}

ByteLevelEncoder::ByteLevelEncoder(const Vocabulary& vocabulary, PreTokenizer pre_tokenizer)
    : vocabulary_(&vocabulary),
      pre_tokenizer_(std::move(pre_tokenizer)),
      index_(vocabulary.texts),
      merges_(vocabulary.merges.size()) {
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    byte_tokens_[byte] = FindFormable(ByteLevelCharacter(static_cast<uint8_t>(byte)));
  }
}

int32_t ByteLevelEncoder::FindFormable(std::string_view text) const {
  const auto id = index_.Find(text);
  if (!id || !IsFormable(vocabulary_->kinds[static_cast<size_t>(id->value())])) return kNoToken;
  return id->value();
}

Result<void> ByteLevelEncoder::AddMerge(uint32_t rank) {
  const std::string_view merge = vocabulary_->merges[rank];
  const size_t space = merge.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == merge.size()) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("vocabulary: merge {} is not two texts with a space between", rank));
  }
  const std::string_view parts[] = {merge.substr(0, space), merge.substr(space + 1)};
  const std::string joined = std::string(parts[0]).append(parts[1]);
  const std::string_view texts[] = {parts[0], parts[1], joined};
  int32_t tokens[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!index_.Find(texts[i])) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("vocabulary: merge {} needs a token that is not there", rank));
    }
    tokens[i] = FindFormable(texts[i]);
    if (tokens[i] == kNoToken) return {};
  }
  merges_.Add(tokens[0], tokens[1], {rank, tokens[2]});
  return {};
}

Result<ByteLevelEncoder> ByteLevelEncoder::Create(const Vocabulary& vocabulary) {
  ByteLevelEncoder encoder(vocabulary, WEIR_TRY(PreTokenizer::Create(vocabulary.pre_tokenizer)));
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    WEIR_TRY(encoder.AddMerge(static_cast<uint32_t>(rank)));
  }
  return encoder;
}

void ByteLevelEncoder::Encode(std::string_view text, MergeWorkspace& workspace,
                              std::vector<TokenId>& tokens) const {
  for (const std::string_view word : pre_tokenizer_.Split(text)) {
    EncodeWord(word, workspace, tokens);
  }
}

void ByteLevelEncoder::EncodeWord(std::string_view word, MergeWorkspace& workspace,
                                  std::vector<TokenId>& tokens) const {
  if (pre_tokenizer_.prefers_whole_words() && word.size() <= index_.longest_bytes()) {
    std::string text;
    for (const char c : word) text += ByteLevelCharacter(static_cast<uint8_t>(c));
    if (const int32_t token = FindFormable(text); token != kNoToken) {
      tokens.emplace_back(token);
      return;
    }
  }
  workspace.symbols.clear();
  for (size_t at = 0; at < word.size(); ++at) {
    const int32_t token = byte_tokens_[static_cast<uint8_t>(word[at])];
    if (token != kNoToken) workspace.Append(static_cast<uint32_t>(at), 1, token);
  }
  if (workspace.symbols.empty()) return;
  MergeSymbols([&](const MergeSymbol& left,
                   const MergeSymbol& right) { return merges_.Find(left.token, right.token); },
               workspace);
  for (uint32_t i = 0; i != kNoSymbol; i = workspace.symbols[i].next) {
    tokens.emplace_back(workspace.symbols[i].token);
  }
}

}  // namespace weir
