#include "prefix/chain_hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir {
namespace {

constexpr uint64_t kAllBits = ~uint64_t{0};

std::vector<std::byte> Secret(int byte) { return std::vector<std::byte>(136, std::byte(byte)); }

TEST(ChainHasher, NamesTheSameTokensAlikeUnderTheSameSecretOnly) {
  const std::vector<TokenId> tokens(128, TokenId(5));
  const ChainHasher hasher(Secret(1), "model", kAllBits);
  const ChainHasher same(Secret(1), "model", kAllBits);
  const ChainHasher other(Secret(2), "model", kAllBits);
  const ChainHash hash = hasher.Child(hasher.Root(""), tokens);
  EXPECT_EQ(same.Child(same.Root(""), tokens), hash);
  EXPECT_NE(other.Child(other.Root(""), tokens), hash);
}

TEST(ChainHasher, DrawsASecretWhenNoneIsGiven) {
  const ChainHasher a({}, "model", kAllBits);
  const ChainHasher b({}, "model", kAllBits);
  EXPECT_NE(a.Root(""), b.Root(""));
}

TEST(ChainHasher, TellsNamespacesFingerprintsAndTheirBordersApart) {
  const auto root = [](const char* fingerprint, std::string_view name_space) {
    return ChainHasher(Secret(1), fingerprint, kAllBits).Root(name_space);
  };
  EXPECT_NE(root("a", "b"), root("a", "c"));
  EXPECT_NE(root("a", "b"), root("c", "b"));
  EXPECT_NE(root("ab", "c"), root("a", "bc"));
  EXPECT_NE(root("", "1:a"), root("1:a", ""));
  EXPECT_NE(root("a", std::string_view("b\0c", 3)), root("a", std::string_view("b\0d", 3)));
}

TEST(ChainHasher, DependsOnAllThatCameBefore) {
  const ChainHasher hasher(Secret(1), "model", kAllBits);
  const std::vector<TokenId> a(128, TokenId(1));
  const std::vector<TokenId> b(128, TokenId(2));
  const ChainHash root = hasher.Root("");
  EXPECT_NE(hasher.Child(hasher.Child(root, a), b), hasher.Child(hasher.Child(root, b), b));
  EXPECT_NE(hasher.Child(root, std::span(a).first(127)), hasher.Child(root, a));
}

TEST(ChainHasher, KeepsTheBitsOfTheMask) {
  const ChainHasher hasher(Secret(1), "model", 0xF);
  const ChainHash hash = hasher.Root("");
  EXPECT_LT(hash.low, 16U);
  EXPECT_LT(hash.high, 16U);
}

}  // namespace
}  // namespace weir
