#include "server/api_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

bool IsKeyByte(char c) { return c > ' ' && c < '\x7F'; }

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> out;
  for (size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return out;
}

// "admin" or "concurrent=N".
Result<void> ReadRight(std::string_view word, ApiKeyRights& rights) {
  constexpr std::string_view kConcurrent = "concurrent=";
  if (word == "admin") {
    rights.is_admin = true;
    return {};
  }
  if (word.starts_with(kConcurrent)) {
    const std::string_view number = word.substr(kConcurrent.size());
    const char* end = number.data() + number.size();
    const auto [at, error] = std::from_chars(number.data(), end, rights.answers_max);
    if (error == std::errc() && at == end && rights.answers_max > 0) return {};
    return Fail(ErrorCode::kInvalidArgument, "concurrent must be a whole number above 0");
  }
  // The word may be a key that stands in the wrong place.
  return Fail(ErrorCode::kInvalidArgument,
              "after the key and its name there may be admin and concurrent=N, nothing else");
}

bool IsRight(std::string_view word) { return word == "admin" || word.starts_with("concurrent="); }

}  // namespace

ApiKeys::PaddedKey ApiKeys::Pad(std::string_view key) {
  PaddedKey out;
  std::copy_n(key.begin(), std::min(key.size(), kKeyBytesMax), out.bytes.begin());
  out.byte_count = key.size();
  return out;
}

Result<void> ApiKeys::Add(std::string_view key, ApiKeyRights rights) {
  if (key.empty() || key.size() > kKeyBytesMax || !std::ranges::all_of(key, IsKeyByte)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("a key must have from 1 to {} visible ASCII characters and no spaces",
                            kKeyBytesMax));
  }
  if (rights.name.empty() || rights.name.size() > kNameBytesMax ||
      !std::ranges::all_of(rights.name, IsNameByte)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the name of a key must have from 1 to {} letters, digits, '.', '_' "
                            "or '-'",
                            kNameBytesMax));
  }
  if (entries_.size() >= kCountMax) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("more than {} keys", kCountMax));
  }
  for (const Entry& entry : entries_) {
    if (entry.rights.name == rights.name) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("the name {} is given twice, but keys share no cached tokens", rights.name));
    }
  }
  if (const auto twin = Find(key)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("the key of {} is given again", entries_[*twin].rights.name));
  }
  entries_.push_back({.key = Pad(key), .rights = std::move(rights)});
  return {};
}

Result<ApiKeys> ApiKeys::Parse(std::string_view text, std::string_view source) {
  ApiKeys out;
  size_t line_number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = Words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    if (words.empty() || words[0].starts_with('#')) continue;
    const bool is_named = words.size() > 1 && !IsRight(words[1]);
    ApiKeyRights rights;
    rights.name = is_named ? std::string(words[1]) : fmt::format("key-{}", out.count() + 1);
    Result<void> done;
    for (size_t i = is_named ? 2 : 1; i < words.size() && done; ++i) {
      done = ReadRight(words[i], rights);
    }
    if (done) done = out.Add(words[0], std::move(rights));
    if (!done) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} line {}: {}", source, line_number, done.error().message));
    }
  }
  if (out.count() == 0) {
    return Fail(ErrorCode::kInvalidArgument, fmt::format("{} has no key", source));
  }
  return out;
}

bool ApiKeys::HasAdmin() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) { return entry.rights.is_admin; });
}

std::optional<size_t> ApiKeys::Find(std::string_view key) const {
  const PaddedKey wanted = Pad(key);
  size_t found = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const PaddedKey& own = entries_[i].key;
    size_t difference = own.byte_count ^ wanted.byte_count;
    for (size_t at = 0; at < kKeyBytesMax; ++at) difference |= own.bytes[at] ^ wanted.bytes[at];
    const size_t mask = size_t{0} - static_cast<size_t>(difference == 0);  // all ones if equal
    found = (found & ~mask) | (i & mask);
  }
  return found == entries_.size() ? std::nullopt : std::optional(found);
}

std::string_view BearerKey(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  const std::string_view scheme = authorization.substr(0, kScheme.size());
  const bool is_bearer = std::ranges::equal(scheme, kScheme, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b;
  });
  authorization.remove_prefix(scheme.size());
  if (!is_bearer || !authorization.starts_with(' ')) return {};
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

}  // namespace weir
