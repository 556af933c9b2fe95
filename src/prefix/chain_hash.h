// Names of prefixes: xxh3-128, under a secret, of the parent's hash and a node's tokens.
//
// The secret keeps others from telling which tokens a hash stands for. Equal hashes prove nothing:
// whoever looks a node up compares parent and tokens too.
//
// Ownership: plain values. Threads: any, const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace weir {

struct ChainHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ChainHash&) const = default;
};

class ChainHasher {
 public:
  // `secret`: at least 136 bytes, or none: then a random one. `mask`: the bits kept of each half.
  ChainHasher(std::vector<std::byte> secret, std::string fingerprint, uint64_t mask);

  [[nodiscard]] ChainHash Root(std::string_view name_space) const;
  // At most 128 tokens.
  [[nodiscard]] ChainHash Child(const ChainHash& parent, std::span<const TokenId> tokens) const;

 private:
  [[nodiscard]] ChainHash HashOf(std::span<const std::byte> bytes) const;

  std::vector<std::byte> secret_;
  std::string fingerprint_;
  uint64_t mask_;
};

}  // namespace weir
