// Hit rates of Weir's eviction policies and of others on traces: hit_rate FOLDER_OR_FILE...
//
// Prints two tables for each trace, as markdown: retained windows, and full blocks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "sim/block_replay.h"
#include "sim/resume_replay.h"
#include "sim/trace_folder.h"

namespace weir {
namespace {

constexpr std::array kPoints = {16U, 64U, 256U, 1024U, 4096U};
constexpr std::array kShares = {0.01, 0.05, 0.10, 0.25};  // of the unique blocks

class Table {
 public:
  explicit Table(double ideal) : ideal_(ideal) {}

  // A row of hit / ideal.
  template <class Columns, class Replay>
  void AddRow(std::string_view name, const Columns& columns, Replay replay) {
    fmt::print("| {} |", name);
    const auto start = std::chrono::steady_clock::now();
    for (const auto column : columns) {
      const ReplayResult result = replay(column);
      fmt::print(" {:.3f} |", ideal_ > 0 ? result.hit_rate() / ideal_ : 0.0);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print(" {:.2f} |\n", took.count() / static_cast<double>(columns.size()));
    std::fflush(stdout);
  }

 private:
  double ideal_;
};

void PrintTrace(const Trace& trace) {
  const ReplayResult ideal = ReplayIdeal(trace);
  fmt::print(
      "\n### {}\n\n{} requests, {} prompt tokens, {} unique blocks of {} tokens, ideal {:.3f}\n\n",
      trace.name, trace.requests.size(), ideal.prompt_tokens, trace.unique_blocks(),
      trace.block_tokens, ideal.hit_rate());
  if (trace.unique_blocks() == 0) return;
  Table table(ideal.hit_rate());
  fmt::print("| retained windows: hit / ideal |");
  for (const uint32_t points : kPoints) fmt::print(" {} |", points);
  fmt::print(" s a cell |\n|---|---|---|---|---|---|---|\n");
  for (uint32_t p = 0; p < kWindowPolicyCount; ++p) {
    const auto policy = static_cast<WindowPolicy>(p);
    table.AddRow(NameOf(policy), kPoints, [&](uint32_t points) {
      return ReplayResumePoints(trace, {.policy = policy, .points = points});
    });
  }
  fmt::print("\n| full blocks kept, of unique: hit / ideal |");
  for (const double share : kShares) fmt::print(" {:.0f} % |", 100 * share);
  fmt::print(" s a cell |\n|---|---|---|---|---|---|\n");
  for (uint32_t p = 0; p < kBlockPolicyCount; ++p) {
    const auto policy = static_cast<BlockPolicy>(p);
    table.AddRow(NameOf(policy), kShares, [&](double share) {
      const auto blocks = static_cast<uint32_t>(share * trace.unique_blocks());
      return ReplayBlocks(trace, {.policy = policy, .blocks = std::max(blocks, 1U)});
    });
  }
}

int Run(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const auto start = std::chrono::steady_clock::now();
    const auto traces = ReadTraces(path, {});
    if (!traces) {
      fmt::print(stderr, "hit_rate: {}\n", traces.error().message);
      return 1;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print(stderr, "hit_rate: {} read in {:.1f} s\n", path, took.count());
    for (const Trace& trace : *traces) PrintTrace(trace);
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: hit_rate FOLDER_OR_FILE...\n");
    return 2;
  }
  return weir::Run({argv + 1, argv + argc});
}
