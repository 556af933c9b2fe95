#include "text/tokenizer.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include "text/byte_level_bpe.h"
#include "text/byte_token.h"
#include "text/sentencepiece.h"
#include "text/utf8_stream.h"

namespace weir {
namespace {

// Texts of tokens that end a turn in the chat formats we know.
constexpr std::string_view kEndTexts[] = {"<end_of_turn>",
                                          "<|im_end|>",
                                          "<|eot_id|>",
                                          "<|eom_id|>",
                                          "<|endoftext|>",
                                          "<|end|>",
                                          "<|end_of_text|>",
                                          "<|end_of_turn|>",
                                          "<|return|>",
                                          "<|call|>",
                                          "<eos>",
                                          "</s>",
                                          "<｜end▁of▁sentence｜>",
                                          "<EOT>"};

// Some files call such tokens user-defined. Gemma's user-defined "</s>" is an HTML tag, though.
bool MayEndATurn(TokenKind kind, std::string_view text) {
  if (kind != TokenKind::kControl && !(kind == TokenKind::kUserDefined && text.starts_with("<|"))) {
    return false;
  }
  return std::find(std::begin(kEndTexts), std::end(kEndTexts), text) != std::end(kEndTexts);
}

// Harmony (gpt-oss) ends each message of an answer with <|end|> and the answer with <|return|>.
constexpr std::string_view kMessageEnd = "<|end|>";
constexpr std::string_view kAnswerEnd = "<|return|>";

// Copies all texts behind one another and points the views there. (Not a std::string: moving a
// short one moves its bytes.)
std::vector<char> MoveTextsToArena(std::vector<std::string_view>& texts) {
  size_t byte_count = 0;
  for (const std::string_view text : texts) byte_count += text.size();
  std::vector<char> arena;
  arena.reserve(byte_count);
  for (std::string_view& text : texts) {
    const size_t begin = arena.size();
    arena.insert(arena.end(), text.begin(), text.end());
    text = std::string_view(arena.data() + begin, text.size());
  }
  return arena;
}

}  // namespace

struct Tokenizer::State {
  Vocabulary vocabulary;
  std::vector<char> arena;  // the bytes of vocabulary.texts
  std::variant<std::monostate, SentencePieceEncoder, ByteLevelEncoder> encoder;
  TokenMatcher control;       // control and unknown tokens
  TokenMatcher user_defined;  // byte-level only
  std::vector<TokenId> end_tokens;

  void FindEndTokens();
  void EncodeText(std::string_view text, MergeWorkspace& workspace,
                  std::vector<TokenId>& tokens) const;
  [[nodiscard]] bool AddsSpace() const {
    return vocabulary.kind == TokenizerKind::kSentencePiece && vocabulary.add_space_prefix;
  }
  [[nodiscard]] std::string Piece(TokenId token, SpecialTokens special) const;
  [[nodiscard]] size_t SpelledBytes(TokenId token) const;
  void CountBefore(std::string_view text, std::span<const size_t> offsets, size_t first_token,
                   EncodedParts& parts) const;
};

// Bytes of the text that EncodeText() made this token of, with spaces escaped.
size_t Tokenizer::State::SpelledBytes(TokenId token) const {
  const auto id = static_cast<size_t>(token.value());
  if (vocabulary.kind != TokenizerKind::kSentencePiece) {
    return Piece(token, SpecialTokens::kParse).size();
  }
  if (vocabulary.kinds[id] == TokenKind::kByte) return 1;
  const std::string_view text = vocabulary.texts[id];  // some have spaces that are not escaped
  const auto spaces = static_cast<size_t>(std::count(text.begin(), text.end(), ' '));
  return text.size() + spaces * (kSpaceSymbol.size() - 1);
}

// `text` became the tokens from `first_token` on; parts begin at `offsets` of it, ascending.
void Tokenizer::State::CountBefore(std::string_view text, std::span<const size_t> offsets,
                                   size_t first_token, EncodedParts& parts) const {
  const bool escapes = vocabulary.kind == TokenizerKind::kSentencePiece;
  size_t token = first_token;
  size_t token_begin = 0;
  size_t read = 0;
  size_t spelled = AddsSpace() ? kSpaceSymbol.size() : 0;  // by text[0, read)
  for (const size_t offset : offsets) {
    for (; read < offset; ++read) spelled += escapes && text[read] == ' ' ? kSpaceSymbol.size() : 1;
    while (offset > 0 && token < parts.tokens.size()) {
      const size_t token_end = token_begin + SpelledBytes(parts.tokens[token]);
      if (token_end > spelled) break;
      token_begin = token_end;
      ++token;
    }
    parts.tokens_before.push_back(static_cast<uint32_t>(token));
  }
}

void Tokenizer::State::FindEndTokens() {
  for (const auto id : {vocabulary.eos, vocabulary.eot}) {
    if (id) end_tokens.push_back(*id);
  }
  std::vector<TokenId> by_text;
  bool has_answer_end = false;
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string_view text = vocabulary.texts[id];
    if (!MayEndATurn(vocabulary.kinds[id], text)) continue;
    has_answer_end = has_answer_end || text == kAnswerEnd;
    by_text.emplace_back(static_cast<int32_t>(id));
  }
  for (const TokenId id : by_text) {
    const std::string_view text = vocabulary.texts[static_cast<size_t>(id.value())];
    if (!has_answer_end || text != kMessageEnd) end_tokens.push_back(id);
  }
  std::sort(end_tokens.begin(), end_tokens.end());
  end_tokens.erase(std::unique(end_tokens.begin(), end_tokens.end()), end_tokens.end());
}

// One stretch of text between control tokens.
void Tokenizer::State::EncodeText(std::string_view text, MergeWorkspace& workspace,
                                  std::vector<TokenId>& tokens) const {
  if (text.empty()) return;
  if (const auto* pieces = std::get_if<SentencePieceEncoder>(&encoder)) {
    std::string escaped(AddsSpace() ? kSpaceSymbol : std::string_view());
    escaped += EscapeSpaces(text);
    pieces->Encode(escaped, workspace, tokens);
    return;
  }
  const auto& bytes = std::get<ByteLevelEncoder>(encoder);
  size_t at = 0;
  while (const auto match = user_defined.Next(text, at)) {
    bytes.Encode(text.substr(at, match->begin - at), workspace, tokens);
    tokens.push_back(match->token);
    at = match->end;
  }
  bytes.Encode(text.substr(at), workspace, tokens);
}

Tokenizer::Tokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::Create(Vocabulary vocabulary) {
  WEIR_TRY(CheckVocabulary(vocabulary));
  auto state = std::make_unique<State>();
  state->vocabulary = std::move(vocabulary);
  Vocabulary& own = state->vocabulary;
  state->arena = MoveTextsToArena(own.texts);
  own.kinds.resize(own.texts.size(), TokenKind::kNormal);
  if (own.kind == TokenizerKind::kSentencePiece) {
    state->encoder.emplace<SentencePieceEncoder>(own);
  } else {
    state->encoder = WEIR_TRY(ByteLevelEncoder::Create(own));
  }
  own.merges = {};  // views of the caller's bytes
  for (size_t id = 0; id < own.texts.size(); ++id) {
    if (!IsValidUtf8(own.texts[id])) continue;  // no valid text contains it
    const TokenId token(static_cast<int32_t>(id));
    switch (own.kinds[id]) {
      case TokenKind::kControl:
      case TokenKind::kUnknown:
        state->control.Add(own.texts[id], token);
        break;
      case TokenKind::kUserDefined:
        if (own.kind == TokenizerKind::kByteLevelBpe) state->user_defined.Add(own.texts[id], token);
        break;
      default:
        break;
    }
  }
  state->FindEndTokens();
  return Tokenizer(std::move(state));
}

std::vector<TokenId> Tokenizer::Encode(std::string_view text, SpecialTokens special,
                                       AddBos add_bos) const {
  if (text.empty()) return Encode(Prompt{}, add_bos);
  return Encode(Prompt{{std::string(text), special == SpecialTokens::kParse}}, add_bos);
}

std::vector<TokenId> Tokenizer::Encode(const Prompt& prompt, AddBos add_bos) const {
  return EncodeParts(prompt, add_bos).tokens;
}

Tokenizer::EncodedParts Tokenizer::EncodeParts(const Prompt& prompt, AddBos add_bos) const {
  EncodedParts parts;
  std::vector<TokenId>& tokens = parts.tokens;
  const Vocabulary& vocabulary = state_->vocabulary;
  if (add_bos == AddBos::kAsModelWants && vocabulary.add_bos && vocabulary.bos) {
    tokens.push_back(*vocabulary.bos);
  }
  MergeWorkspace workspace;
  std::string text;                  // since the last control token
  std::vector<size_t> part_offsets;  // of parts that begin in it
  const auto end_text = [&] {
    const size_t first_token = tokens.size();
    state_->EncodeText(text, workspace, tokens);
    state_->CountBefore(text, part_offsets, first_token, parts);
    text.clear();
    part_offsets.clear();
  };
  for (const PromptPart& part : prompt) {
    const std::string valid = ReplaceInvalidUtf8(part.text);
    part_offsets.push_back(text.size());
    size_t at = 0;
    while (part.parse_special) {
      const auto match = state_->control.Next(valid, at);
      if (!match) break;
      text.append(valid, at, match->begin - at);
      end_text();
      tokens.push_back(match->token);
      at = match->end;
    }
    text.append(valid, at);
  }
  end_text();
  return parts;
}

std::string Tokenizer::Piece(TokenId token, SpecialTokens special) const {
  return state_->Piece(token, special);
}

std::string Tokenizer::State::Piece(TokenId token, SpecialTokens special) const {
  const auto id = static_cast<size_t>(token.value());
  if (token.value() < 0 || id >= vocabulary.texts.size()) return {};
  const std::string_view text = vocabulary.texts[id];
  switch (vocabulary.kinds[id]) {
    case TokenKind::kControl:
    case TokenKind::kUnknown:
      return std::string(special == SpecialTokens::kParse ? text : std::string_view());
    case TokenKind::kByte:
      return std::string(1, static_cast<char>(*ByteOfToken(text)));
    case TokenKind::kUserDefined:
      return vocabulary.kind == TokenizerKind::kSentencePiece ? UnescapeSpaces(text)
                                                              : std::string(text);
    case TokenKind::kNormal:
    case TokenKind::kUnused:
      break;
  }
  if (vocabulary.kind == TokenizerKind::kSentencePiece) return UnescapeSpaces(text);
  return BytesOfByteLevelText(text).value_or(std::string(text));
}

std::string Tokenizer::Decode(const std::vector<TokenId>& tokens, SpecialTokens special) const {
  std::string bytes;
  for (const TokenId token : tokens) bytes += Piece(token, special);
  if (state_->AddsSpace() && bytes.starts_with(' ')) bytes.erase(0, 1);
  return ReplaceInvalidUtf8(bytes);
}

uint32_t Tokenizer::vocab_size() const {
  return static_cast<uint32_t>(state_->vocabulary.texts.size());
}
const Vocabulary& Tokenizer::vocabulary() const { return state_->vocabulary; }
const std::vector<TokenId>& Tokenizer::end_tokens() const { return state_->end_tokens; }

}  // namespace weir
