// Byte counts as people write them: "512M", "1.5GiB", "4096".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

// Suffixes K, M, G, T (optionally followed by "B" or "iB") are powers of 1024.
[[nodiscard]] Result<uint64_t> ParseByteCount(std::string_view text);

// "1.50 GiB", "12.0 MiB", "17 B".
[[nodiscard]] std::string FormatByteCount(uint64_t bytes);

}  // namespace weir
