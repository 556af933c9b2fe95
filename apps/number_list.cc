#include "number_list.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace weir {
namespace {

constexpr uint32_t kMaxValue = 1U << 30;
constexpr size_t kMaxCount = 1000;

// Takes a number off the front.
std::optional<uint32_t> TakeNumber(std::string_view& text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kMaxValue) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// One part between commas. False if it is none.
bool AddPart(std::string_view part, std::vector<uint32_t>& out) {
  const auto first = TakeNumber(part);
  if (!first) return false;
  out.push_back(*first);
  if (part.empty()) return true;
  if (part[0] != '-') return false;
  part.remove_prefix(1);
  const auto last = TakeNumber(part);
  if (!last || *last < *first) return false;
  char sign = '+';
  uint32_t step = 1;
  if (!part.empty()) {
    sign = part[0];
    part.remove_prefix(1);
    const auto given = TakeNumber(part);
    if ((sign != '+' && sign != '*') || !given || !part.empty()) return false;
    step = *given;
  }
  if (step == 0 || (sign == '*' && (step == 1 || *first == 0))) return false;
  for (uint64_t value = *first; out.size() <= kMaxCount;) {
    value = sign == '+' ? value + step : value * step;
    if (value > *last) return true;
    out.push_back(static_cast<uint32_t>(value));
  }
  return false;
}

}  // namespace

Result<std::vector<uint32_t>> ParseNumberList(const std::string& flag, const std::string& text) {
  std::vector<uint32_t> numbers;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    if (!AddPart(part, numbers) || numbers.size() > kMaxCount) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("{}: '{}' is no count; write 512, 128,256 or 1-16*2", flag, part));
    }
    if (comma == std::string_view::npos) return numbers;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace weir
