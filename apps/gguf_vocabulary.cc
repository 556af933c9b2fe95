#include "gguf_vocabulary.h"

#include <fmt/format.h>

namespace weir {
namespace {

std::string Key(std::string_view name) { return fmt::format("tokenizer.ggml.{}", name); }

Result<TokenizerKind> ReadKind(const GgufFile& file) {
  const auto model = WEIR_TRY(file.String(Key("model")));
  if (!model) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{}: no key {}: the file has no tokenizer", file.path(), Key("model")));
  }
  if (*model == "llama") return TokenizerKind::kSentencePiece;
  if (*model == "gpt2") return TokenizerKind::kByteLevelBpe;
  return Fail(
      ErrorCode::kUnsupported,
      fmt::format("{}: tokenizer model '{}'; Weir knows 'llama' and 'gpt2'", file.path(), *model));
}

Result<std::vector<TokenKind>> ReadKinds(const GgufFile& file) {
  std::vector<TokenKind> kinds;
  for (const int64_t kind : WEIR_TRY(file.Integers(Key("token_type")))) {
    if (kind < 1 || kind > 6) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("{}: {}[{}] is {}, not a kind from 1 to 6", file.path(),
                              Key("token_type"), kinds.size(), kind));
    }
    kinds.push_back(static_cast<TokenKind>(kind - 1));
  }
  return kinds;
}

Result<std::optional<TokenId>> ReadToken(const GgufFile& file, std::string_view name) {
  const std::string key = Key(fmt::format("{}_token_id", name));
  const auto id = WEIR_TRY(file.Unsigned(key));
  if (!id) return std::optional<TokenId>();
  if (*id >= static_cast<uint64_t>(kMaxVocabularyTokens)) {
    return Fail(ErrorCode::kCorrupt, fmt::format("{}: {} is {}", file.path(), key, *id));
  }
  return std::optional(TokenId(static_cast<int32_t>(*id)));
}

}  // namespace

Result<Vocabulary> ReadVocabulary(const GgufFile& file) {
  Vocabulary vocabulary;
  vocabulary.kind = WEIR_TRY(ReadKind(file));
  const bool is_sentencepiece = vocabulary.kind == TokenizerKind::kSentencePiece;
  vocabulary.pre_tokenizer = WEIR_TRY(file.String(Key("pre"))).value_or("default");
  vocabulary.texts = WEIR_TRY(file.Strings(Key("tokens")));
  vocabulary.kinds = WEIR_TRY(ReadKinds(file));
  if (is_sentencepiece) {
    const auto scores = WEIR_TRY(file.Floats(Key("scores")));
    vocabulary.scores.assign(scores.begin(), scores.end());
  } else {
    vocabulary.merges = WEIR_TRY(file.Strings(Key("merges")));
  }
  vocabulary.bos = WEIR_TRY(ReadToken(file, "bos"));
  vocabulary.eos = WEIR_TRY(ReadToken(file, "eos"));
  vocabulary.eot = WEIR_TRY(ReadToken(file, "eot"));
  vocabulary.unknown = WEIR_TRY(ReadToken(file, "unknown"));
  vocabulary.padding = WEIR_TRY(ReadToken(file, "padding"));
  // Files without the keys: SentencePiece models want BOS, byte-level ones do not.
  vocabulary.add_bos = WEIR_TRY(file.Bool(Key("add_bos_token"))).value_or(is_sentencepiece);
  vocabulary.add_eos = WEIR_TRY(file.Bool(Key("add_eos_token"))).value_or(false);
  vocabulary.add_space_prefix =
      WEIR_TRY(file.Bool(Key("add_space_prefix"))).value_or(is_sentencepiece);
  return vocabulary;
}

}  // namespace weir
