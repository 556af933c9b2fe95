#include "load/mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace weir {
namespace {

constexpr uint32_t kMost = 10'000'000;  // requests or tokens

// Takes a number and what must follow it off the front.
std::optional<uint32_t> TakeNumber(std::string_view& text, std::string_view end) {
  uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number > kMost) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  if (!text.starts_with(end)) return std::nullopt;
  text.remove_prefix(end.size());
  return number;
}

std::optional<MixClass> ParseClass(std::string_view text) {
  MixClass parsed{.name = std::string(text)};
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    parsed.name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  const auto count = TakeNumber(text, "x");
  if (!count) return std::nullopt;
  const bool is_range = text.find('-') != std::string_view::npos;
  const auto least = TakeNumber(text, is_range ? "-" : ":");
  const auto most = is_range ? TakeNumber(text, ":") : least;
  const auto answer = TakeNumber(text, "");
  if (!least || !most || !answer || !text.empty()) return std::nullopt;
  parsed.count = *count;
  parsed.prompt_tokens_min = *least;
  parsed.prompt_tokens_max = *most;
  parsed.answer_tokens = *answer;
  const bool is_sound = !parsed.name.empty() && *count > 0 && *least > 0 && *least <= *most;
  return is_sound && *answer > 0 ? std::optional(parsed) : std::nullopt;
}

}  // namespace

Result<std::vector<MixClass>> ParseMix(std::string_view text) {
  std::vector<MixClass> mix;
  while (true) {
    const size_t length = std::min(text.find(','), text.size());
    const auto parsed = ParseClass(text.substr(0, length));
    if (!parsed) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("'{}' is no class of requests like 100x512:64 or "
                              "short=100x64-512:64 (count, prompt tokens, answer tokens)",
                              text.substr(0, length)));
    }
    const auto has_name = [&](const MixClass& other) { return other.name == parsed->name; };
    if (std::any_of(mix.begin(), mix.end(), has_name)) {
      return Fail(ErrorCode::kInvalidArgument,
                  fmt::format("two classes of requests are called '{}'", parsed->name));
    }
    mix.push_back(*parsed);
    if (length == text.size()) return mix;
    text.remove_prefix(length + 1);
  }
}

}  // namespace weir
