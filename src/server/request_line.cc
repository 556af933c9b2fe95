#include "server/request_line.h"

#include <fmt/format.h>

namespace weir {
namespace {

std::string MissText(const RequestRecord& record) {
  const TokenSources& sources = record.usage.prompt_sources;
  std::string text;
  const auto add = [&](std::string_view reason, uint64_t reused, uint64_t reusable) {
    if (reusable <= reused + kTileTokens) return;
    text += fmt::format("{}{}:{}", text.empty() ? " miss=" : ",", reason, reusable - reused);
  };
  if (record.veto != ResumeVeto::kNone) {
    add(record.veto == ResumeVeto::kWindow ? "window" : "owed", sources.device + sources.replayed,
        record.full_length);
  }
  if (sources.computed > 0) add("unseen", record.full_length, record.usage.prompt_tokens);
  return text;
}

std::string DetailText(const RequestRecord& record) {
  std::string text;
  if (record.gone) text += fmt::format(" gone={}", GoneName(*record.gone));
  if (!record.key_name.empty()) text += fmt::format(" key={}", record.key_name);
  if (record.choices != 1) text += fmt::format(" choices={}", record.choices);
  return text;
}

}  // namespace

std::string RequestLine(const RequestRecord& record) {
  const Usage& usage = record.usage;
  const TokenSources& sources = usage.prompt_sources;
  return fmt::format(
      "{} {}{} prompt={} device={} replayed={} computed={} answer={} first={:.0f}ms "
      "total={:.0f}ms{}",
      record.id, OutcomeName(record.outcome), DetailText(record), usage.prompt_tokens,
      sources.device, sources.replayed, sources.computed, usage.completion_tokens,
      record.first_token_seconds.value_or(0) * 1e3, record.total_seconds * 1e3, MissText(record));
}

}  // namespace weir
