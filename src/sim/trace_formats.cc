#include "sim/trace_formats.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weir {
namespace {

using Json = nlohmann::json;

constexpr size_t kAgentTextBlockBytes = 64;
constexpr std::string_view kAzureColumns = "TIMESTAMP,ContextTokens,GeneratedTokens";

// A place in a file, for messages.
struct Place {
  std::string_view path;
  std::string_view unit;  // "line" or "request"
  size_t number = 0;      // from 1
};

tl::unexpected<Error> Corrupt(const Place& place, std::string_view what) {
  return Fail(ErrorCode::kCorrupt, fmt::format("{}: {} {}: {}; the trace is not read", place.path,
                                               place.unit, place.number, what));
}

Result<Json> ParseObject(std::string_view text, const Place& place) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Corrupt(place, "not JSON");
  if (!json.is_object()) return Corrupt(place, "not a JSON object");
  return json;
}

Result<double> NumberAt(const Json& object, const char* key, const Place& place) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) {
    return Corrupt(place, fmt::format("'{}' is not a number", key));
  }
  const auto number = found->get<double>();
  if (!std::isfinite(number)) return Corrupt(place, fmt::format("'{}' is not finite", key));
  return number;
}

Result<uint32_t> CountAt(const Json& object, const char* key, const Place& place) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  const double number = WEIR_TRY(NumberAt(object, key, place));
  if (number < 0 || number > kMost) {
    return Corrupt(place, fmt::format("'{}' is {}, not 0..{}", key, number, kMost));
  }
  return static_cast<uint32_t>(number);
}

// 0 without the member.
Result<uint32_t> CountOrNone(const Json& object, const char* key, const Place& place) {
  if (!object.contains(key)) return 0;
  return CountAt(object, key, place);
}

Result<std::vector<uint64_t>> HashIds(const Json& object, const Place& place) {
  const auto found = object.find("hash_ids");
  if (found == object.end() || !found->is_array()) {
    return Corrupt(place, "'hash_ids' is not an array");
  }
  std::vector<uint64_t> ids;
  ids.reserve(found->size());
  for (const Json& id : *found) {
    if (!id.is_number_unsigned()) {
      return Corrupt(place, "'hash_ids' has something else than numbers from 0");
    }
    ids.push_back(id.get<uint64_t>());
  }
  return ids;
}

// The next line without its end, taken off the front.
std::string_view TakeLine(std::string_view& text) {
  const size_t length = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// Calls add(object, place) for each line that is not blank.
template <class Add>
Result<void> ForEachObject(std::string_view text, std::string_view path, Add add) {
  for (size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = TakeLine(text);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const Place place{path, "line", number};
    const Json object = WEIR_TRY(ParseObject(line, place));
    WEIR_TRY(add(object, place));
  }
  return {};
}

struct AzureRow {
  double time_s = 0;  // since 1970
  uint32_t prompt_tokens = 0;
  uint32_t answer_tokens = 0;
};

// "2023-11-16 18:15:46.6805900,374,44"
Result<AzureRow> ParseAzureRow(std::string_view line, const Place& place) {
  const std::string text(line);
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  unsigned hour = 0;
  unsigned minute = 0;
  double second = 0;
  AzureRow row;
  int end = 0;
  const int fields = std::sscanf(
      text.c_str(), "%4d-%2u-%2u %2u:%2u:%lf,%9" SCNu32 ",%9" SCNu32 "%n", &year, &month, &day,
      &hour, &minute, &second, &row.prompt_tokens, &row.answer_tokens, &end);
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const bool is_time = hour < 24 && minute < 60 && second >= 0 && second < 61;
  const bool has_sign = line.find_first_of("+-", 8) != std::string_view::npos;
  if (fields != 8 || has_sign || static_cast<size_t>(end) != text.size() || !date.ok() ||
      !is_time) {
    return Corrupt(place, "not a time and two counts of tokens");
  }
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  row.time_s = static_cast<double>(days) * 86400 + hour * 3600 + minute * 60 + second;
  return row;
}

// What the blocks of a session, or of a sub-agent in it, are called.
class SessionLabels {
 public:
  explicit SessionLabels(uint32_t session) : session_(session) {}

  // The leading `ids` are blocks of tools and system prompt, known by their sizes.
  void Share(std::span<const uint64_t> ids, uint32_t tool_tokens, uint32_t system_tokens) {
    for (size_t i = 0; i < ids.size(); ++i) {
      shared_.try_emplace(ids[i], Mix({uint64_t{1} << 32 | tool_tokens, system_tokens, i}));
    }
  }
  [[nodiscard]] uint64_t Of(uint64_t id) const {
    const auto shared = shared_.find(id);
    return shared != shared_.end() ? shared->second : Mix({session_, id, 0});
  }

 private:
  static uint64_t Mix(const std::array<uint64_t, 3>& parts) {
    return XXH3_64bits(parts.data(), sizeof parts);
  }

  uint64_t session_;
  std::unordered_map<uint64_t, uint64_t> shared_;
};

// Requests of a session or of a sub-agent, which begin `start_s` seconds into the trace.
Result<void> AddRequests(const Json& owner, double start_s, SessionLabels& labels, Place place,
                         TraceBuilder& builder) {
  constexpr uint32_t kBlock = kClaudeCodeBlockTokens;
  const auto requests = owner.find("requests");
  if (requests == owner.end() || !requests->is_array()) {
    return Corrupt(place, "'requests' is not an array");
  }
  const uint32_t tool_tokens = WEIR_TRY(CountAt(owner, "tool_tokens", place));
  const uint32_t system_tokens = WEIR_TRY(CountAt(owner, "system_tokens", place));
  const size_t shared_blocks = (size_t{tool_tokens} + system_tokens) / kBlock;
  bool is_first = true;
  for (const Json& request : *requests) {
    ++place.number;
    if (!request.is_object()) return Corrupt(place, "not a JSON object");
    const double time_s = start_s + WEIR_TRY(NumberAt(request, "t", place));
    if (request.contains("requests")) {  // a sub-agent; one inside another is not read
      if (place.unit == "request of a sub-agent") return Corrupt(place, "a sub-agent's sub-agent");
      const Place inner{place.path, "request of a sub-agent", 0};
      WEIR_TRY(AddRequests(request, time_s, labels, inner, builder));
      continue;
    }
    const uint32_t token_count = WEIR_TRY(CountAt(request, "in", place));
    const uint32_t answer_tokens = WEIR_TRY(CountOrNone(request, "out", place));
    const std::vector<uint64_t> ids = WEIR_TRY(HashIds(request, place));
    if (is_first) {
      const size_t count = std::min(shared_blocks, ids.size());
      labels.Share(std::span(ids).first(count), tool_tokens, system_tokens);
    }
    is_first = false;
    uint32_t node = 0;
    for (const uint64_t id : ids) node = builder.Child(node, labels.Of(id));
    builder.AddRequest({.time_s = time_s,
                        .token_count = token_count,
                        .last_node = node,
                        .answer_tokens = answer_tokens});
  }
  return {};
}

}  // namespace

Result<void> AddMooncakeLines(std::string_view text, std::string_view path, TraceBuilder& builder) {
  return ForEachObject(text, path, [&](const Json& object, const Place& place) -> Result<void> {
    const double time_ms = WEIR_TRY(NumberAt(object, "timestamp", place));
    const uint32_t token_count = WEIR_TRY(CountAt(object, "input_length", place));
    const uint32_t answer_tokens = WEIR_TRY(CountOrNone(object, "output_length", place));
    const std::vector<uint64_t> ids = WEIR_TRY(HashIds(object, place));
    uint32_t node = 0;
    for (const uint64_t id : ids) node = builder.Child(node, id);
    builder.AddRequest({.time_s = time_ms / 1e3,
                        .token_count = token_count,
                        .last_node = node,
                        .answer_tokens = answer_tokens});
    return {};
  });
}

Result<void> AddClaudeCodeSession(std::string_view text, std::string_view path, uint32_t session,
                                  double start_s, TraceBuilder& builder) {
  const Place place{path, "request", 0};
  const Json object = WEIR_TRY(ParseObject(text, place));
  const uint32_t block_tokens = WEIR_TRY(CountAt(object, "block_size", place));
  if (block_tokens != kClaudeCodeBlockTokens) {
    return Corrupt(place,
                   fmt::format("'block_size' is {}, not {}", block_tokens, kClaudeCodeBlockTokens));
  }
  SessionLabels labels(session);
  return AddRequests(object, start_s, labels, place, builder);
}

Result<void> AddAgentTextLines(std::string_view text, std::string_view path,
                               TraceBuilder& builder) {
  static_assert(kAgentTextBlockBytes == 4 * kAgentTextBlockTokens);
  return ForEachObject(text, path, [&](const Json& object, const Place& place) -> Result<void> {
    const double time_us = WEIR_TRY(NumberAt(object, "timestamp", place));
    const auto input = object.find("input");
    if (input == object.end() || !input->is_string()) return Corrupt(place, "'input' is not text");
    const auto& prompt = input->get_ref<const std::string&>();
    if (prompt.size() / 4 > std::numeric_limits<int32_t>::max()) {
      return Corrupt(place, "'input' is too long");
    }
    uint32_t node = 0;
    for (size_t at = 0; at + kAgentTextBlockBytes <= prompt.size(); at += kAgentTextBlockBytes) {
      node = builder.Child(node, XXH3_64bits(prompt.data() + at, kAgentTextBlockBytes));
    }
    const auto output = object.find("output");
    const size_t answer_bytes = output != object.end() && output->is_string()
                                    ? output->get_ref<const std::string&>().size()
                                    : 0;
    builder.AddRequest({.time_s = time_us / 1e6,
                        .token_count = static_cast<uint32_t>(prompt.size() / 4),
                        .last_node = node,
                        .answer_tokens = static_cast<uint32_t>(answer_bytes / 4)});
    return {};
  });
}

Result<void> AddAzureLines(std::string_view text, std::string_view path, TraceBuilder& builder) {
  size_t number = 0;
  std::optional<double> first_s;
  while (!text.empty()) {
    const std::string_view line = TakeLine(text);
    const Place place{path, "line", ++number};
    if (number == 1 || line.empty()) continue;  // the names of the columns
    const AzureRow row = WEIR_TRY(ParseAzureRow(line, place));
    if (!first_s) first_s = row.time_s;
    builder.AddRequest({.time_s = row.time_s - *first_s,
                        .token_count = row.prompt_tokens,
                        .answer_tokens = row.answer_tokens});
  }
  return {};
}

TraceFormat SniffTraceFormat(std::string_view text) {
  // A session file is one object that may be large: look for its members near the start only.
  const std::string_view head = text.substr(0, std::min(text.find('\n'), text.size()));
  const auto names = [](std::string_view part, std::string_view key) {
    return part.find(fmt::format("\"{}\"", key)) != std::string_view::npos;
  };
  const std::string_view start = text.substr(0, 4096);
  if (names(start, "block_size") && names(start, "tool_tokens")) return TraceFormat::kClaudeCode;
  if (text.starts_with(kAzureColumns)) return TraceFormat::kAzure;
  if (names(head, "hash_ids") && names(head, "input_length")) return TraceFormat::kMooncake;
  if (names(head, "input") && names(head, "timestamp")) return TraceFormat::kAgentText;
  return TraceFormat::kUnknown;
}

}  // namespace weir
