// Cuts text into the words that byte-level encoding never joins.
//
// A pre-tokeniser is one or more regular expressions, applied one after the other: each cuts every
// word so far into its matches and the text between them. A word is the whole subject: what a
// look-ahead sees ends where the word ends.
//
// Threads: immutable once created; Split() allocates what a match needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

class PreTokenizer {
 public:
  enum class Engine : uint8_t { kJit, kInterpreter };  // the same matches; JIT is the faster

  // By GGUF name (tokenizer.ggml.pre). kUnsupported names an unknown one and lists the known.
  static Result<PreTokenizer> Create(std::string_view name, Engine engine = Engine::kJit);
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // The words of `text` in order, all of its bytes. Requires valid UTF-8.
  [[nodiscard]] std::vector<std::string_view> Split(std::string_view text) const;

  // A word that is a token as it stands becomes that token without merging.
  [[nodiscard]] bool prefers_whole_words() const;

 private:
  struct State;
  explicit PreTokenizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace weir
