#include "sched/length_buckets.h"

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

constexpr uint64_t kKilo = 1024;

Result<uint32_t> ParseTokens(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view suffix(end, static_cast<size_t>(text.data() + text.size() - end));
  if (suffix == "k" || suffix == "K") value = value <= UINT32_MAX / kKilo ? value * kKilo : 0;
  const bool is_number = error == std::errc() && (suffix.empty() || suffix == "k" || suffix == "K");
  if (!is_number || value == 0 || value > UINT32_MAX) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("\"{}\" is no number of tokens, such as 4096 or 4k", text));
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

LengthBuckets::LengthBuckets() : bounds_{4 * kKilo, 16 * kKilo, 64 * kKilo} {}

Result<LengthBuckets> LengthBuckets::Parse(std::string_view text) {
  std::vector<uint32_t> bounds;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const uint32_t bound = WEIR_TRY(ParseTokens(text.substr(at, comma - at)));
    if (!bounds.empty() && bound <= bounds.back()) {
      return Fail(
          ErrorCode::kInvalidArgument,
          fmt::format("length buckets \"{}\": {} is not above {}", text, bound, bounds.back()));
    }
    bounds.push_back(bound);
    at = comma + 1;
  }
  if (bounds.size() >= kMostBuckets) {
    return Fail(ErrorCode::kInvalidArgument,
                fmt::format("length buckets \"{}\": {} bounds, at most {} are possible", text,
                            bounds.size(), kMostBuckets - 1));
  }
  return LengthBuckets(std::move(bounds));
}

uint32_t LengthBuckets::IndexOf(uint32_t tokens) const {
  return static_cast<uint32_t>(std::ranges::lower_bound(bounds_, tokens) - bounds_.begin());
}

std::string LengthBuckets::NameOf(uint32_t bucket) const {
  const uint32_t first = bucket == 0 ? 0 : bounds_[bucket - 1] + 1;
  return bucket < bounds_.size() ? fmt::format("{}-{}", first, bounds_[bucket])
                                 : fmt::format("{}-", first);
}

}  // namespace weir
