#include "jinja/case.h"

#include <algorithm>
#include <iterator>

namespace weir::jinja {

namespace {

struct CaseRun {  // code points first, first + stride, ..., last move by delta
  uint32_t first;
  uint32_t last;
  uint32_t stride;
  int32_t delta;
};
struct CaseExpansion {  // one character becomes several
  uint32_t code_point;
  std::string_view text;
};

#include "jinja/case_table.inc"

template <class Runs>
char32_t Mapped(const Runs& runs, char32_t c) {
  const auto* run =
      std::lower_bound(std::begin(runs), std::end(runs), c,
                       [](const CaseRun& row, char32_t wanted) { return row.last < wanted; });
  const bool is_in =
      run != std::end(runs) && c >= run->first && (c - run->first) % run->stride == 0;
  return is_in ? static_cast<char32_t>(static_cast<int32_t>(c) + run->delta) : c;
}

template <class Runs, class Expansions>
void AppendMapped(const Runs& runs, const Expansions& expansions, std::string_view text, size_t at,
                  size_t next, std::string& out) {
  if (next == at + 1 && static_cast<signed char>(text[at]) < 0) {  // not UTF-8
    out += text[at];
    return;
  }
  const char32_t c = CodePointAt(text, at);
  const auto* expansion =
      c < 0x80 ? std::end(expansions)
               : std::find_if(std::begin(expansions), std::end(expansions),
                              [&](const CaseExpansion& row) { return row.code_point == c; });
  if (expansion != std::end(expansions)) {
    out += expansion->text;
  } else {
    AppendUtf8(Mapped(runs, c), out);
  }
}

bool HasCase(std::string_view text, size_t at) {
  const char32_t c = CodePointAt(text, at);
  return Mapped(kUpperRuns, c) != c || Mapped(kLowerRuns, c) != c || c == 0xDF;
}

}  // namespace

std::string ToUpper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t next = NextCharacter(text, at);
    AppendMapped(kUpperRuns, kUpperExpansions, text, at, next, out);
    at = next;
  }
  return out;
}

std::string ToLower(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t next = NextCharacter(text, at);
    AppendMapped(kLowerRuns, kLowerExpansions, text, at, next, out);
    at = next;
  }
  return out;
}

std::string Capitalize(std::string_view text) {
  if (text.empty()) return {};
  const size_t first = NextCharacter(text, 0);
  return ToUpper(text.substr(0, first)) + ToLower(text.substr(first));
}

std::string ToTitle(std::string_view text) {
  std::string out;
  bool is_inside_word = false;
  for (size_t at = 0; at < text.size();) {
    const size_t next = NextCharacter(text, at);
    const std::string_view character = text.substr(at, next - at);
    out += is_inside_word ? ToLower(character) : ToUpper(character);
    is_inside_word = HasCase(text, at);
    at = next;
  }
  return out;
}

bool IsAllCase(std::string_view text, LetterCase wanted) {
  bool has_letters = false;
  for (size_t at = 0; at < text.size(); at = NextCharacter(text, at)) {
    const char32_t c = CodePointAt(text, at);
    if (!HasCase(text, at)) continue;
    const bool is_upper = Mapped(kLowerRuns, c) != c;
    if (is_upper != (wanted == LetterCase::kUpper)) return false;
    has_letters = true;
  }
  return has_letters;
}

}  // namespace weir::jinja
