// A tokenizer whose tokens are single bytes, for tests that need exact pieces.
//
// Ids: 0 <unk>, 1 <s>, 2 </s> (control), then the 256 bytes. No BOS, no space prefix.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/tokenizer.h"

namespace weir::test {

// Of one byte.
inline TokenId ByteTokenizerId(std::string_view byte) {
  WEIR_CHECK(byte.size() == 1);
  return TokenId(3 + static_cast<int32_t>(static_cast<uint8_t>(byte[0])));
}

inline Tokenizer ByteTokenizer() {
  static const std::array<std::string, 259> texts = [] {
    std::array<std::string, 259> out = {"<unk>", "<s>", "</s>"};
    for (size_t byte = 0; byte < 256; ++byte) out[3 + byte] = fmt::format("<0x{:02X}>", byte);
    return out;
  }();
  Vocabulary vocabulary;
  vocabulary.kind = TokenizerKind::kSentencePiece;
  vocabulary.texts.assign(texts.begin(), texts.end());
  vocabulary.scores.assign(texts.size(), 0);
  vocabulary.kinds.assign(texts.size(), TokenKind::kByte);
  vocabulary.kinds[0] = TokenKind::kUnknown;
  vocabulary.kinds[1] = vocabulary.kinds[2] = TokenKind::kControl;
  vocabulary.unknown = TokenId(0);
  vocabulary.bos = TokenId(1);
  vocabulary.eos = TokenId(2);
  vocabulary.add_space_prefix = false;
  auto tokenizer = Tokenizer::Create(std::move(vocabulary));
  WEIR_CHECK(tokenizer.has_value());
  return std::move(tokenizer).Take();
}

}  // namespace weir::test
