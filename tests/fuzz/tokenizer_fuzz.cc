// A vocabulary out of the input's bytes, then text through it; and text through a good vocabulary.
//
// Input: lines. The first says what to build (see Parse), the rest are tokens and merges up to an
// empty line; what follows is text. So that a fuzzer changes vocabularies by changing lines.
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/byte_token.h"
#include "text/tokenizer.h"
#include "text/utf8_stream.h"

namespace weir {
namespace {

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

constexpr const char* kPreTokenizers[] = {"gpt-2",  "smollm", "llama-bpe",   "qwen2",
                                          "gpt-4o", "tekken", "deepseek-v3", "?"};

// First line: [0] kind and flags, [1] pre-tokeniser, [2..6] special ids. A token's line starts with
// its kind ('0'..'5') and score; a line that starts with 'm' is a merge, one with 'b' all bytes.
Vocabulary Parse(std::string_view& rest, std::vector<std::string>& byte_texts) {
  Vocabulary vocabulary;
  std::string_view head = TakeLine(rest);
  const auto head_byte = [&](size_t i) {
    return i < head.size() ? static_cast<uint8_t>(head[i]) : uint8_t{0};
  };
  const uint8_t flags = head_byte(0);
  const bool is_pieces = (flags & 1) != 0;
  vocabulary.kind = is_pieces ? TokenizerKind::kSentencePiece : TokenizerKind::kByteLevelBpe;
  vocabulary.add_space_prefix = (flags & 2) != 0;
  vocabulary.add_bos = (flags & 4) != 0;
  vocabulary.pre_tokenizer = kPreTokenizers[head_byte(1) % std::size(kPreTokenizers)];
  std::optional<TokenId>* ids[] = {&vocabulary.bos, &vocabulary.eos, &vocabulary.eot,
                                   &vocabulary.unknown, &vocabulary.padding};
  for (size_t i = 0; i < std::size(ids); ++i) {
    if (head_byte(i + 2) >= '0') *ids[i] = TokenId(head_byte(i + 2) - '0' - 1);
  }
  const auto add = [&](std::string_view text, TokenKind kind, float score) {
    vocabulary.texts.push_back(text);
    vocabulary.kinds.push_back(kind);
    if (is_pieces) vocabulary.scores.push_back(score);
  };
  while (!rest.empty()) {
    const std::string_view line = TakeLine(rest);
    if (line.empty()) break;
    if (line[0] == 'm') {
      vocabulary.merges.push_back(line.substr(1));
    } else if (line[0] == 'b' && byte_texts.empty()) {
      for (int byte = 0; byte < 256; ++byte) {
        byte_texts.push_back(is_pieces
                                 ? fmt::format("<0x{:02X}>", byte)
                                 : std::string(ByteLevelCharacter(static_cast<uint8_t>(byte))));
      }
      for (const std::string& text : byte_texts) {
        add(text, is_pieces ? TokenKind::kByte : TokenKind::kNormal, 0);
      }
    } else if (line[0] >= '0' && line[0] <= '5' && line.size() > 1) {
      const float score = line[1] == 'n' ? std::numeric_limits<float>::quiet_NaN()
                                         : static_cast<float>(line[1] & 15);
      add(line.substr(2), static_cast<TokenKind>(line[0] - '0'), score);
    } else if (line[0] == 's' && !vocabulary.scores.empty()) {
      vocabulary.scores.pop_back();
    }
  }
  return vocabulary;
}

void UseTokenizer(const Tokenizer& tokenizer, std::string_view text) {
  const auto limit = static_cast<int32_t>(tokenizer.vocab_size());
  for (const SpecialTokens special : {SpecialTokens::kAsText, SpecialTokens::kParse}) {
    const auto tokens = tokenizer.Encode(text, special, AddBos::kNo);
    Utf8Stream stream;
    for (const TokenId token : tokens) {
      WEIR_CHECK(token.value() >= 0 && token.value() < limit);
      const TokenKind kind = tokenizer.vocabulary().kinds[static_cast<size_t>(token.value())];
      WEIR_CHECK(special == SpecialTokens::kParse || kind != TokenKind::kControl);
      WEIR_CHECK(IsValidUtf8(stream.Push(tokenizer.Piece(token, special))));
    }
    WEIR_CHECK(IsValidUtf8(stream.Finish()));
    WEIR_CHECK(IsValidUtf8(tokenizer.Decode(tokens, special)));
  }
  if (const size_t half = text.size() / 2; half > 0) {
    const auto parts = tokenizer.EncodeParts(
        {{std::string(text.substr(0, half)), true}, {std::string(text.substr(half)), false}},
        AddBos::kNo);
    WEIR_CHECK(parts.tokens_before.size() == 2 && parts.tokens_before[0] == 0);
    WEIR_CHECK(parts.tokens_before[1] <= parts.tokens.size());
  }
  for (const TokenId token : tokenizer.end_tokens()) {
    WEIR_CHECK(token.value() >= 0 && token.value() < limit);
  }
  (void)tokenizer.Encode(text, SpecialTokens::kParse, AddBos::kAsModelWants);
}

// A vocabulary that has all bytes gives every valid text back.
void CheckRoundTrip(std::string_view text) {
  static const Tokenizer* const tokenizers[] = {
      [] {
        std::string_view lines = "1\nb\n01\xE2\x96\x81\n03ab\n02a\n31  \n32<b>\n\n";
        std::vector<std::string> bytes;
        return new Tokenizer(Tokenizer::Create(Parse(lines, bytes)).value());
      }(),
      [] {
        std::string_view lines =
            "04\nb\n00ab\n00\xC4\xA0"
            "a\nma b\nm\xC4\xA0 a\n30<b>\n\n";
        std::vector<std::string> bytes;
        return new Tokenizer(Tokenizer::Create(Parse(lines, bytes)).value());
      }()};
  for (const Tokenizer* tokenizer : tokenizers) {
    const auto tokens = tokenizer->Encode(text, SpecialTokens::kAsText, AddBos::kNo);
    std::string expected = ReplaceInvalidUtf8(text);
    if (tokenizer->vocabulary().kind == TokenizerKind::kSentencePiece) {
      for (size_t at = 0; (at = expected.find("\xE2\x96\x81", at)) != std::string::npos;) {
        expected.replace(at, 3, " ");
      }
    }
    WEIR_CHECK(tokenizer->Decode(tokens, SpecialTokens::kAsText) == expected);
  }
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  weir::CheckRoundTrip(rest);
  std::vector<std::string> byte_texts;
  weir::Vocabulary vocabulary = weir::Parse(rest, byte_texts);
  const auto tokenizer = weir::Tokenizer::Create(std::move(vocabulary));
  if (tokenizer) weir::UseTokenizer(*tokenizer, rest);
  return 0;
}
