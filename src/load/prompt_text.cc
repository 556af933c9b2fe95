#include "load/prompt_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "load/seeded_draws.h"

namespace weir {
namespace {

// With the space before it each is one token of Gemma's, Llama's, GPT-2's and Qwen's vocabularies.
constexpr auto kWords = std::to_array<std::string_view>(
    {"the",    "of",      "and",    "to",      "in",      "that",    "is",    "was",     "for",
     "with",   "as",      "on",     "be",      "at",      "by",      "this",  "had",     "not",
     "are",    "but",     "from",   "or",      "have",    "an",      "they",  "which",   "one",
     "you",    "were",    "all",    "her",     "she",     "there",   "would", "their",   "we",
     "him",    "been",    "has",    "when",    "who",     "will",    "no",    "more",    "if",
     "out",    "so",      "said",   "what",    "up",      "its",     "about", "into",    "than",
     "them",   "can",     "only",   "other",   "new",     "some",    "could", "time",    "these",
     "two",    "may",     "then",   "do",      "first",   "any",     "my",    "now",     "such",
     "like",   "our",     "over",   "man",     "me",      "even",    "most",  "made",    "after",
     "also",   "did",     "many",   "before",  "must",    "through", "years", "where",   "much",
     "your",   "way",     "well",   "down",    "should",  "because", "each",  "just",    "those",
     "people", "how",     "too",    "little",  "state",   "good",    "very",  "make",    "world",
     "still",  "own",     "see",    "men",     "work",    "long",    "get",   "here",    "between",
     "both",   "life",    "being",  "under",   "never",   "day",     "same",  "another", "know",
     "while",  "last",    "might",  "us",      "great",   "old",     "year",  "off",     "come",
     "since",  "against", "go",     "came",    "right",   "used",    "take",  "three",   "house",
     "water",  "city",    "river",  "garden",  "window",  "road",    "table", "letter",  "story",
     "horse",  "tree",    "island", "ship",    "train",   "bridge",  "door",  "school",  "teacher",
     "doctor", "child",   "friend", "morning", "winter",  "market",  "bank",  "paper",   "stone",
     "silver", "fire",    "snow",   "bread",   "machine", "map",     "clock", "light",   "music"});

void AppendWords(uint64_t seed, uint64_t count, std::string& out) {
  for (uint64_t i = 0; i < count; ++i) {
    if (!out.empty()) out += ' ';
    out += kWords[MixBits(seed + MixBits(i)) % kWords.size()];
  }
}

uint64_t WordsIn(double tokens, const Calibration& calibration) {
  return static_cast<uint64_t>(std::max(std::round(tokens * calibration.words_per_token), 0.0));
}

}  // namespace

Result<Calibration> Calibrate(const CountedPrompt& few, const CountedPrompt& many) {
  if (many.words <= few.words || many.tokens <= few.tokens) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the server counts {} tokens in {} words and {} in {}; lengths of "
                            "prompts cannot be set by that",
                            few.tokens, few.words, many.tokens, many.words));
  }
  const double rate = double{1} * (many.words - few.words) / (many.tokens - few.tokens);
  return Calibration{.words_per_token = rate, .overhead_tokens = few.tokens - few.words / rate};
}

std::string WordText(uint64_t seed, uint32_t count) {
  std::string text;
  AppendWords(seed, count, text);
  return text;
}

std::string PromptText(std::span<const TextPiece> pieces, const Calibration& calibration) {
  std::string text;
  if (pieces.empty()) return text;
  const double length = pieces.back().end_tokens - calibration.overhead_tokens;
  const uint64_t end = std::max<uint64_t>(WordsIn(length, calibration), 1);
  uint64_t words = 0;
  for (const TextPiece& piece : pieces) {
    const bool is_last = &piece == &pieces.back();
    const uint64_t piece_end =
        std::min(is_last ? end : WordsIn(piece.end_tokens, calibration), end);
    if (piece_end <= words) continue;
    AppendWords(piece.seed, piece_end - words, text);
    words = piece_end;
  }
  return text;
}

}  // namespace weir
