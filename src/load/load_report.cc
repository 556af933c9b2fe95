#include "load/load_report.h"

#include <fmt/format.h>

namespace weir {
namespace {

// Four cells, in milliseconds.
std::string Cells(const Percentiles& of) {
  if (of.count == 0) return " - | - | - | - |";
  return fmt::format(" {:.1f} | {:.1f} | {:.1f} | {:.1f} |", 1e3 * of.p50, 1e3 * of.p90,
                     1e3 * of.p99, 1e3 * of.max);
}

std::string Row(const ClassSummary& of) {
  return fmt::format("| {} | {} | {} |{}{}{}\n", of.name, of.requests, of.failed,
                     Cells(of.first_text_s), Cells(of.gap_s), Cells(of.total_s));
}

LoadJson Json(const Percentiles& of) {
  return {{"count", of.count}, {"mean", of.mean}, {"p50", of.p50},
          {"p90", of.p90},     {"p99", of.p99},   {"max", of.max}};
}

LoadJson Json(const ClassSummary& of, const LoadSummary& summary) {
  return {{"name", of.name},
          {"requests", of.requests},
          {"failed", of.failed},
          {"prompt_tokens", of.prompt_tokens},
          {"cached_tokens", of.cached_tokens},
          {"answer_tokens", of.answer_tokens},
          {"prompt_tokens_per_s", summary.PerSecond(of.prompt_tokens)},
          {"answer_tokens_per_s", summary.PerSecond(of.answer_tokens)},
          {"first_text_s", Json(of.first_text_s)},
          {"gap_s", Json(of.gap_s)},
          {"total_s", Json(of.total_s)}};
}

}  // namespace

std::string LoadTable(const LoadSummary& summary) {
  std::string text =
      "| class | requests | failed | first text, ms: P50 | P90 | P99 | max "
      "| between texts, ms: P50 | P90 | P99 | max | whole answer, ms: P50 | P90 | P99 | max |\n"
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const ClassSummary& of : summary.classes) text += Row(of);
  if (summary.classes.size() != 1) text += Row(summary.total);
  const ClassSummary& total = summary.total;
  text +=
      fmt::format("\nanswers {} tokens, {:.1f} t/s; prompts {} tokens ({} cached), {:.1f} t/s",
                  total.answer_tokens, summary.PerSecond(total.answer_tokens), total.prompt_tokens,
                  total.cached_tokens, summary.PerSecond(total.prompt_tokens));
  text += fmt::format("; {:.1f} s\n", summary.seconds);
  for (const auto& [kind, count] : summary.errors) {
    text += fmt::format("failed: {} with {}\n", count, kind);
  }
  return text;
}

LoadJson SummaryJson(const LoadSummary& summary) {
  LoadJson classes = LoadJson::array();
  for (const ClassSummary& of : summary.classes) classes.push_back(Json(of, summary));
  LoadJson errors = LoadJson::object();
  for (const auto& [kind, count] : summary.errors) errors[kind] = count;
  return {{"seconds", summary.seconds},
          {"total", Json(summary.total, summary)},
          {"classes", std::move(classes)},
          {"errors", std::move(errors)}};
}

LoadJson RecordsJson(std::span<const RequestRecord> records,
                     std::span<const std::string> class_names) {
  LoadJson list = LoadJson::array();
  for (const RequestRecord& record : records) {
    LoadJson json = {{"class", class_names[record.class_index]},
                     {"script", record.script},
                     {"turn", record.turn},
                     {"at_s", record.at_s},
                     {"total_s", record.total_s},
                     {"prompt_tokens", record.prompt_tokens},
                     {"cached_tokens", record.cached_tokens},
                     {"answer_tokens", record.answer_tokens},
                     {"status", record.status}};
    if (!record.error.empty()) json["error"] = record.error;
    if (!record.message.empty()) json["message"] = record.message;
    json["text_at_s"] = record.text_at_s;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace weir
