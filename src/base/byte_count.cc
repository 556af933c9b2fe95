#include "base/byte_count.h"

#include <array>
#include <charconv>
#include <cmath>

namespace weir {
namespace {

constexpr std::array<std::string_view, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};

// Power of 1024 of a suffix, or -1.
int SuffixPower(std::string_view suffix) {
  if (suffix.empty() || suffix == "B") return 0;
  const auto power = std::string_view("KMGT").find(static_cast<char>(suffix[0] & ~0x20));
  const auto rest = suffix.substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "iB")) return -1;
  return static_cast<int>(power) + 1;
}

}  // namespace

Result<uint64_t> ParseByteCount(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  const int power = SuffixPower(suffix);
  const double bytes = number * std::pow(1024.0, power);
  if (error != std::errc() || power < 0 || !(number >= 0) || !(bytes < 0x1p62)) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is no byte count; write 4096, 512M or 1.5GiB", text));
  }
  return static_cast<uint64_t>(bytes);
}

std::string FormatByteCount(uint64_t bytes) {
  double number = static_cast<double>(bytes);
  size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", number, number < 10 ? 2 : 1, kUnits[unit]);
}

}  // namespace weir
