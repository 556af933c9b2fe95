#include "prefix/chain_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "base/check.h"
#include "quant/kv_tile.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little,
              "tokens are hashed as they lie in memory");
static_assert(XXH3_SECRET_SIZE_MIN == 136);  // as the header says

std::vector<std::byte> RandomSecret() {
  std::random_device random;
  std::vector<std::byte> secret(XXH3_SECRET_SIZE_MIN);
  std::ranges::generate(secret, [&] { return static_cast<std::byte>(random()); });
  return secret;
}

}  // namespace

ChainHasher::ChainHasher(std::vector<std::byte> secret, std::string fingerprint, uint64_t mask)
    : secret_(secret.empty() ? RandomSecret() : std::move(secret)),
      fingerprint_(std::move(fingerprint)),
      mask_(mask) {
  WEIR_CHECK(secret_.size() >= XXH3_SECRET_SIZE_MIN);
}

ChainHash ChainHasher::HashOf(std::span<const std::byte> bytes) const {
  const XXH128_hash_t hash =
      XXH3_128bits_withSecret(bytes.data(), bytes.size(), secret_.data(), secret_.size());
  return {hash.low64 & mask_, hash.high64 & mask_};
}

// The fingerprint's length keeps (a, bc) and (ab, c) apart.
ChainHash ChainHasher::Root(std::string_view name_space) const {
  const std::string text =
      std::to_string(fingerprint_.size()) + ':' + fingerprint_ + std::string(name_space);
  return HashOf(std::as_bytes(std::span(text)));
}

ChainHash ChainHasher::Child(const ChainHash& parent, std::span<const TokenId> tokens) const {
  WEIR_DCHECK(tokens.size() <= kTileTokens);
  std::array<std::byte, sizeof(ChainHash) + kTileTokens * sizeof(TokenId)> text;
  std::memcpy(text.data(), &parent, sizeof(parent));
  std::memcpy(text.data() + sizeof(parent), tokens.data(), tokens.size_bytes());
  return HashOf(std::span(text).first(sizeof(parent) + tokens.size_bytes()));
}

}  // namespace weir
