// Who may use the server: API keys, each with a name, rights and a limit.
//
// A key file has a key a line; docs/api.md describes it:
//
//   # key            name      rights and limits
//   sk-3f9a...       team-a    concurrent=4
//   sk-77b0...       ops       admin
//
// Ownership: plain data; keys stay in memory as they are and are in no message. Threads: any (all
// const but Add).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

struct ApiKeyRights {
  std::string name;          // of letters, digits, '.', '_' and '-'; its cached tokens are its own
  bool is_admin = false;     // may read and flush what belongs to all
  uint32_t answers_max = 0;  // at once; 0: no limit
};

class ApiKeys {
 public:
  static constexpr size_t kKeyBytesMax = 128;
  static constexpr size_t kNameBytesMax = 64;
  static constexpr size_t kCountMax = 1024;

  // No keys: the server is open to all who reach it.
  ApiKeys() = default;

  // The lines of a key file. kInvalidArgument, naming `source` and the line, when one is no key,
  // when a key or a name comes twice, or when there is none.
  static Result<ApiKeys> Parse(std::string_view text, std::string_view source);
  // kInvalidArgument as above, without a place.
  Result<void> Add(std::string_view key, ApiKeyRights rights);

  [[nodiscard]] size_t count() const { return entries_.size(); }
  [[nodiscard]] const ApiKeyRights& rights(size_t index) const { return entries_[index].rights; }
  [[nodiscard]] bool HasAdmin() const;

  // The index of this key. Takes the same time for every `key` of a length, right, nearly right or
  // wrong: looks at every byte of all keys.
  [[nodiscard]] std::optional<size_t> Find(std::string_view key) const;

 private:
  struct PaddedKey {
    std::array<uint8_t, kKeyBytesMax> bytes{};
    size_t byte_count = 0;
  };
  struct Entry {
    PaddedKey key;
    ApiKeyRights rights;
  };
  static PaddedKey Pad(std::string_view key);

  std::vector<Entry> entries_;
};

// What follows "Bearer" in an Authorization header; empty if that is no such header.
[[nodiscard]] std::string_view BearerKey(std::string_view authorization);

}  // namespace weir
