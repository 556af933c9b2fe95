// Random numbers that are a pure function of (key, counter): no state, so a draw does not depend on
// what else was drawn.
//
// Philox4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace weir {

using PhiloxBlock = std::array<uint32_t, 4>;

[[nodiscard]] constexpr PhiloxBlock Philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// In [0, 1), 53 bits. `position` is the token's, `choice` tells answers to one prompt apart.
[[nodiscard]] constexpr double UniformAt(uint64_t seed, uint32_t position, uint32_t choice) {
  const PhiloxBlock block = Philox4x32(
      {position, choice, 0, 0}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  const uint64_t bits = (uint64_t{block[0]} << 32 | block[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace weir
