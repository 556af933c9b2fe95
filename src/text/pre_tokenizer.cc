#include "text/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "text/unicode_additions.h"

namespace weir {
namespace {

// White space as the reference's engine has it (Unicode White_Space). PCRE2's \s also takes U+180E.
#define WS \
  R"(\t-\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})"
#define SPACES "[" WS "]+(?![^" WS "])|[" WS "]+"
#define LINE_ENDS "[" WS "]*[\\r\\n]+"
#define CONTRACTION "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define LEAD "[^\\r\\n\\p{L}\\p{N}]?"

constexpr const char* kGpt2[] = {"'s|'t|'re|'ve|'m|'ll|'d| ?[\\p{L}]+| ?[\\p{N}]+| ?[^" WS
                                 "\\p{L}\\p{N}]+|" SPACES};
constexpr const char* kSingleDigits[] = {"[\\p{N}]", kGpt2[0]};
constexpr const char* kLlama3[] = {CONTRACTION "|" LEAD "[\\p{L}]+|[\\p{N}]{1,3}| ?[^" WS
                                               "\\p{L}\\p{N}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};
constexpr const char* kQwen2[] = {CONTRACTION "|" LEAD "[\\p{L}]+|[\\p{N}]| ?[^" WS
                                              "\\p{L}\\p{N}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};
constexpr const char* kGpt4o[] = {LEAD UPPER "*" LOWER "+" CONTRACTION "?|" LEAD UPPER "+" LOWER
                                             "*" CONTRACTION "?|[\\p{N}]{1,3}| ?[^" WS
                                             "\\p{L}\\p{N}]+[\\r\\n/]*|" LINE_ENDS "|" SPACES};
constexpr const char* kTekken[] = {LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER
                                              "*|[\\p{N}]| ?[^" WS
                                              "\\p{L}\\p{N}]+[\\r\\n/]*|" LINE_ENDS "|" SPACES};
constexpr const char* kDeepseek3[] = {
    "[\\p{N}]{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?"
    "[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|" LINE_ENDS "|" SPACES};

enum class WholeWords : uint8_t { kMerged, kPreferred };

struct Kind {
  std::string_view name;
  std::span<const char* const> patterns;
  WholeWords whole_words = WholeWords::kMerged;
};

constexpr Kind kKinds[] = {
    {"default", kGpt2},
    {"gpt-2", kGpt2},
    {"smollm", kSingleDigits},
    {"starcoder", kSingleDigits},
    {"llama-bpe", kLlama3, WholeWords::kPreferred},
    {"llama3", kLlama3, WholeWords::kPreferred},
    {"llama-v3", kLlama3, WholeWords::kPreferred},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"gpt-4o", kGpt4o},
    {"tekken", kTekken, WholeWords::kPreferred},
    {"deepseek-v3", kDeepseek3},
};

struct FreeCode {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeMatchData {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeMatchContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

struct Pattern {
  std::unique_ptr<pcre2_code, FreeCode> code;
  PreTokenizer::Engine engine;
};

// What one call of Split() needs to match. The limits are off: they would turn a long word into an
// error; the patterns are ours and backtrack at most once over a word.
struct Matcher {
  std::unique_ptr<pcre2_match_data, FreeMatchData> data;
  std::unique_ptr<pcre2_match_context, FreeMatchContext> context;

  Matcher()
      : data(pcre2_match_data_create(1, nullptr)), context(pcre2_match_context_create(nullptr)) {
    WEIR_CHECK(data != nullptr && context != nullptr);
    pcre2_set_match_limit(context.get(), UINT32_MAX);
    pcre2_set_depth_limit(context.get(), UINT32_MAX);
    pcre2_set_heap_limit(context.get(), UINT32_MAX);
  }

  // [begin, end) of the next match at or after `from`.
  std::optional<std::pair<size_t, size_t>> Next(const Pattern& pattern, std::string_view text,
                                                size_t from) {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const auto* code = pattern.code.get();
    int rc = PCRE2_ERROR_JIT_STACKLIMIT;
    if (pattern.engine == PreTokenizer::Engine::kJit) {
      rc = pcre2_jit_match(code, subject, text.size(), from, 0, data.get(), context.get());
    }
    if (rc < 0 && rc != PCRE2_ERROR_NOMATCH) {  // the interpreter keeps its stack on the heap
      rc = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       data.get(), context.get());
    }
    if (rc < 0) return std::nullopt;
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    return std::pair(ends[0], ends[1]);
  }
};

// `pattern` with the newer characters beside each property that they have.
std::string WithNewCharacters(std::string_view pattern) {
  std::string result;
  while (!pattern.empty()) {
    const size_t begin = pattern.find("\\p{");
    const size_t end =
        begin == std::string_view::npos ? pattern.size() : pattern.find('}', begin) + 1;
    result += pattern.substr(0, end);
    const std::string_view property =
        begin == std::string_view::npos ? "" : pattern.substr(begin, end - begin);
    for (const UnicodeAddition& addition : kUnicodeAdditions) {
      const bool is_letter = property == "\\p{L}" && addition.property.starts_with("\\p{L");
      if (is_letter || property == addition.property) result += addition.ranges;
    }
    pattern.remove_prefix(end);
  }
  return result;
}

Result<Pattern> Compile(const char* pattern, PreTokenizer::Engine engine) {
  const std::string text = WithNewCharacters(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  std::unique_ptr<pcre2_code, FreeCode> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), PCRE2_UTF | PCRE2_UCP,
                    &error, &offset, nullptr));
  if (!code) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("pre-tokeniser pattern {}: PCRE2 error {} at {}", pattern, error, offset));
  }
  if (engine == PreTokenizer::Engine::kJit &&
      pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE) != 0) {
    engine = PreTokenizer::Engine::kInterpreter;
  }
  return Pattern{std::move(code), engine};
}

}  // namespace

struct PreTokenizer::State {
  std::vector<Pattern> patterns;
  bool prefers_whole_words = false;
};

PreTokenizer::PreTokenizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

bool PreTokenizer::prefers_whole_words() const { return state_->prefers_whole_words; }

Result<PreTokenizer> PreTokenizer::Create(std::string_view name, Engine engine) {
  std::string known;
  for (const Kind& kind : kKinds) {
    if (kind.name != name) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", kind.name);
      continue;
    }
    auto state = std::make_unique<State>();
    state->prefers_whole_words = kind.whole_words == WholeWords::kPreferred;
    for (const char* pattern : kind.patterns) {
      state->patterns.push_back(WEIR_TRY(Compile(pattern, engine)));
    }
    return PreTokenizer(std::move(state));
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("tokenizer: unknown pre-tokeniser \"{}\" (known: {})", name, known));
}

std::vector<std::string_view> PreTokenizer::Split(std::string_view text) const {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  Matcher matcher;
  std::vector<std::string_view> shorter;
  for (const Pattern& pattern : state_->patterns) {
    shorter.clear();
    for (const std::string_view word : words) {
      size_t at = 0;
      while (at < word.size()) {
        const auto match = matcher.Next(pattern, word, at);
        if (!match || match->first == match->second) break;
        if (match->first > at) shorter.push_back(word.substr(at, match->first - at));
        shorter.push_back(word.substr(match->first, match->second - match->first));
        at = match->second;
      }
      if (at < word.size()) shorter.push_back(word.substr(at));
    }
    words.swap(shorter);
  }
  return words;
}

}  // namespace weir
