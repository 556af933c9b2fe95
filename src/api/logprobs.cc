#include "api/logprobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/utf8_stream.h"

namespace weir {
namespace {

// JSON has no infinity; -9999 is what OpenAI's clients know for "impossible".
double Finite(float logprob) { return std::isfinite(logprob) ? logprob : -9999.0; }

Json ChatEntry(const Tokenizer& tokenizer, TokenId token, float logprob, LeadingSpace leading) {
  std::string piece = tokenizer.Piece(token, SpecialTokens::kParse);
  if (leading == LeadingSpace::kStrip && piece.starts_with(' ')) piece.erase(0, 1);
  Json bytes = Json::array();
  for (const char byte : piece) bytes.push_back(static_cast<uint8_t>(byte));
  return {{"token", ReplaceInvalidUtf8(piece)},
          {"logprob", Finite(logprob)},
          {"bytes", std::move(bytes)}};
}

std::string CompletionTokenText(const Tokenizer& tokenizer, TokenId token) {
  std::string piece = tokenizer.Piece(token, SpecialTokens::kParse);
  if (IsValidUtf8(piece)) return piece;
  std::string out = "bytes:";
  for (const char byte : piece) out += fmt::format("\\x{:02x}", static_cast<uint8_t>(byte));
  return out;
}

size_t CharacterCount(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U;  // not a continuation byte
  }));
}

}  // namespace

Json ChatLogprobs(const Tokenizer& tokenizer, std::span<const SampledToken> tokens,
                  LeadingSpace leading) {
  Json content = Json::array();
  for (const SampledToken& sampled : tokens) {
    const LeadingSpace here = content.empty() ? leading : LeadingSpace::kKeep;
    Json entry = ChatEntry(tokenizer, sampled.token, sampled.logprob, here);
    Json top = Json::array();
    for (const TokenLogprob& other : sampled.top) {
      top.push_back(ChatEntry(tokenizer, other.token, other.logprob, here));
    }
    entry["top_logprobs"] = std::move(top);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

void CompletionLogprobs::Clear() {
  block_ = {{"tokens", Json::array()},
            {"token_logprobs", Json::array()},
            {"top_logprobs", Json::array()},
            {"text_offset", Json::array()}};
}

void CompletionLogprobs::AddText(TokenId token) {
  const std::string text = CompletionTokenText(tokenizer_, token);
  block_["tokens"].push_back(text);
  block_["text_offset"].push_back(offset_);
  // Control tokens are named here and absent from the text.
  offset_ += CharacterCount(tokenizer_.Piece(token, SpecialTokens::kAsText));
}

void CompletionLogprobs::Add(const SampledToken& sampled) {
  AddText(sampled.token);
  block_["token_logprobs"].push_back(Finite(sampled.logprob));
  Json top = Json::object();
  for (const TokenLogprob& other : sampled.top) {  // most likely first; of equal texts it stays
    const std::string text = CompletionTokenText(tokenizer_, other.token);
    if (!top.contains(text)) top[text] = Finite(other.logprob);
  }
  const std::string own = CompletionTokenText(tokenizer_, sampled.token);
  if (!sampled.top.empty() && !top.contains(own)) top[own] = Finite(sampled.logprob);
  block_["top_logprobs"].push_back(std::move(top));
}

void CompletionLogprobs::AddUnknown(TokenId token) {
  AddText(token);
  block_["token_logprobs"].push_back(nullptr);
  block_["top_logprobs"].push_back(nullptr);
}

Json CompletionLogprobs::Take() {
  Json out = std::move(block_);
  Clear();
  return out;
}

}  // namespace weir
