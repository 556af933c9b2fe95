#include "text/vocabulary.h"

#include <cmath>
#include <utility>

#include "text/byte_token.h"

namespace weir {
namespace {

Result<void> CheckSpecialId(const char* name, std::optional<TokenId> id, size_t token_count) {
  if (!id || (id->value() >= 0 && static_cast<size_t>(id->value()) < token_count)) return {};
  return Fail(ErrorCode::kCorrupt, fmt::format("vocabulary: {} token id {} is outside of {} tokens",
                                               name, id->value(), token_count));
}

}  // namespace

Result<void> CheckVocabulary(const Vocabulary& vocabulary) {
  const size_t count = vocabulary.texts.size();
  if (count == 0) return Fail(ErrorCode::kCorrupt, "vocabulary: no tokens");
  if (count > static_cast<size_t>(kMaxVocabularyTokens)) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("vocabulary: {} tokens, more than {}", count, kMaxVocabularyTokens));
  }
  if (!vocabulary.kinds.empty() && vocabulary.kinds.size() != count) {
    return Fail(ErrorCode::kCorrupt, fmt::format("vocabulary: {} token kinds for {} tokens",
                                                 vocabulary.kinds.size(), count));
  }
  if (vocabulary.kind == TokenizerKind::kSentencePiece && vocabulary.scores.size() != count) {
    return Fail(ErrorCode::kCorrupt, fmt::format("vocabulary: {} scores for {} tokens",
                                                 vocabulary.scores.size(), count));
  }
  for (size_t i = 0; i < vocabulary.scores.size(); ++i) {
    if (!std::isfinite(vocabulary.scores[i])) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("vocabulary: the score of token {} is {}", i, vocabulary.scores[i]));
    }
  }
  for (size_t i = 0; i < vocabulary.kinds.size(); ++i) {
    if (vocabulary.kinds[i] == TokenKind::kByte && !ByteOfToken(vocabulary.texts[i])) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("vocabulary: byte token {} is not written <0xNN>", i));
    }
  }
  const std::pair<const char*, std::optional<TokenId>> specials[] = {
      {"bos", vocabulary.bos},
      {"eos", vocabulary.eos},
      {"eot", vocabulary.eot},
      {"unknown", vocabulary.unknown},
      {"padding", vocabulary.padding}};
  for (const auto& [name, id] : specials) WEIR_TRY(CheckSpecialId(name, id, count));
  return {};
}

}  // namespace weir
