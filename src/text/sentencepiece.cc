#include "text/sentencepiece.h"

#include <bit>
#include <cstring>
#include <string>

#include "text/byte_token.h"
#include "text/utf8.h"
#include "text/utf8_stream.h"

namespace weir {
namespace {

constexpr uint32_t kJointBits = 22;

// Larger scores give smaller numbers; -0 and 0 the same one.
uint32_t PriorityOfScore(float score) {
  const uint32_t bits = std::bit_cast<uint32_t>(score + 0.0F);
  const uint32_t ascending = (bits >> 31) != 0 ? ~bits : bits | 0x8000'0000U;
  return ~ascending;
}

uint32_t JointHash(std::string_view left, std::string_view right) {
  uint32_t words[2] = {0, 0};
  std::memcpy(&words[0], left.data(), left.size());
  std::memcpy(&words[1], right.data(), right.size());
  const uint64_t key = uint64_t{words[0]} << 32 | words[1];
  return static_cast<uint32_t>((key * 0x9E37'79B9'7F4A'7C15U) >> (64 - kJointBits));
}

// Calls visit(end of the left character, hash) for every pair of neighbouring characters.
template <class Visit>
void ForEachJoint(std::string_view text, const Visit& visit) {
  if (text.empty()) return;
  std::string_view left = text.substr(0, Utf8Length(text[0]));
  for (size_t at = left.size(); at < text.size();) {
    const std::string_view right = text.substr(at, Utf8Length(text[at]));
    visit(at, JointHash(left, right));
    at += right.size();
    left = right;
  }
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  result.reserve(text.size() + text.size() / 2);
  for (size_t at = 0; at < text.size();) {
    const size_t found = text.find(from, at);
    result.append(text.substr(at, found - at));
    if (found == std::string_view::npos) break;
    result.append(to);
    at = found + from.size();
  }
  return result;
}

bool IsFormable(TokenKind kind) {
  return kind == TokenKind::kNormal || kind == TokenKind::kUserDefined;
}

}  // namespace

std::string EscapeSpaces(std::string_view text) { return ReplaceAll(text, " ", kSpaceSymbol); }
std::string UnescapeSpaces(std::string_view piece) { return ReplaceAll(piece, kSpaceSymbol, " "); }

SentencePieceEncoder::SentencePieceEncoder(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary),
      index_(vocabulary.texts),
      priorities_(vocabulary.texts.size()),
      joints_((size_t{1} << kJointBits) / 64) {
  byte_tokens_.fill(kNoToken);
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const auto token = static_cast<int32_t>(id);
    const std::string_view text = vocabulary.texts[id];
    const TokenKind kind = vocabulary.kinds[id];
    priorities_[id] = PriorityOfScore(vocabulary.scores[id]);
    if (kind == TokenKind::kByte) {
      int32_t& byte_token = byte_tokens_[*ByteOfToken(text)];
      if (byte_token == kNoToken) byte_token = token;
    }
    if (!IsFormable(kind) || !IsValidUtf8(text))
      continue;  // valid texts never match an invalid one
    if (kind == TokenKind::kUserDefined) user_defined_.Add(EscapeSpaces(text), TokenId(token));
    ForEachJoint(text,
                 [&](size_t, uint32_t hash) { joints_[hash / 64] |= uint64_t{1} << (hash % 64); });
  }
  for (const int32_t token : byte_tokens_) has_all_bytes_ = has_all_bytes_ && token != kNoToken;
}

int32_t SentencePieceEncoder::FindPiece(std::string_view text) const {
  const auto id = index_.Find(text);
  if (!id || !IsFormable(vocabulary_.kinds[static_cast<size_t>(id->value())])) return kNoToken;
  return id->value();
}

void SentencePieceEncoder::Encode(std::string_view text, MergeWorkspace& workspace,
                                  std::vector<TokenId>& tokens) const {
  size_t at = 0;
  while (const auto match = user_defined_.Next(text, at)) {
    EncodeUnmarked(text.substr(at, match->begin - at), workspace, tokens);
    tokens.push_back(match->token);
    at = match->end;
  }
  EncodeUnmarked(text.substr(at), workspace, tokens);
}

// Cuts the text where no piece contains both neighbours: no join can cross, so the parts are
// independent, and a heap is a word's and not the whole text's. (A false hash match only joins two
// parts that could have been apart.)
void SentencePieceEncoder::EncodeUnmarked(std::string_view text, MergeWorkspace& workspace,
                                          std::vector<TokenId>& tokens) const {
  size_t begin = 0;
  ForEachJoint(text, [&](size_t at, uint32_t hash) {
    if ((joints_[hash / 64] >> (hash % 64) & 1) != 0) return;
    EncodeJoined(text.substr(begin, at - begin), workspace, tokens);
    begin = at;
  });
  EncodeJoined(text.substr(begin), workspace, tokens);
}

void SentencePieceEncoder::EncodeJoined(std::string_view text, MergeWorkspace& workspace,
                                        std::vector<TokenId>& tokens) const {
  if (text.empty()) return;
  workspace.symbols.clear();
  for (size_t at = 0; at < text.size();) {
    const uint32_t length = Utf8Length(text[at]);
    workspace.Append(static_cast<uint32_t>(at), length, kNoToken);
    at += length;
  }
  const auto rule = [&](const MergeSymbol& left,
                        const MergeSymbol& right) -> std::optional<MergedPair> {
    const int32_t token = FindPiece(text.substr(left.begin, left.byte_count + right.byte_count));
    if (token == kNoToken) return std::nullopt;
    return MergedPair{priorities_[static_cast<size_t>(token)], token};
  };
  MergeSymbols(rule, workspace);

  for (uint32_t i = 0; i != kNoSymbol; i = workspace.symbols[i].next) {
    const MergeSymbol& symbol = workspace.symbols[i];
    const std::string_view piece = text.substr(symbol.begin, symbol.byte_count);
    const int32_t token = symbol.token == kNoToken ? FindPiece(piece) : symbol.token;
    if (token != kNoToken) {
      tokens.emplace_back(token);
    } else {
      AppendUnknown(piece, tokens);
    }
  }
}

void SentencePieceEncoder::AppendUnknown(std::string_view character,
                                         std::vector<TokenId>& tokens) const {
  if (has_all_bytes_) {
    for (const char c : character) tokens.emplace_back(byte_tokens_[static_cast<uint8_t>(c)]);
    return;
  }
  // Only a token of kind unknown: no text of a user may become a control token.
  const auto unknown = vocabulary_.unknown;
  if (!unknown || vocabulary_.kinds[static_cast<size_t>(unknown->value())] != TokenKind::kUnknown) {
    return;
  }
  if (tokens.empty() || tokens.back() != *unknown) tokens.push_back(*unknown);
}

}  // namespace weir
