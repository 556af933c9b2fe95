// Bytes of a trace file through every reader of traces, and what they make of them through replays.
#include <string_view>

#include "base/check.h"
#include "sim/block_replay.h"
#include "sim/resume_replay.h"
#include "sim/trace_formats.h"

namespace weir {
namespace {

void CheckTrace(Trace trace) {
  for (uint32_t node = 1; node < trace.nodes.size(); ++node) {
    const uint32_t parent = trace.nodes[node].parent;
    WEIR_CHECK(parent < node && trace.nodes[node].depth == trace.nodes[parent].depth + 1);
  }
  const ReplayResult ideal = ReplayIdeal(trace);
  WEIR_CHECK(ideal.hit_tokens <= ideal.prompt_tokens);
  for (uint32_t p = 0; p < kWindowPolicyCount; ++p) {
    const auto policy = static_cast<WindowPolicy>(p);
    const auto result = ReplayResumePoints(trace, {.policy = policy, .points = 3});
    WEIR_CHECK(result.hit_tokens <= ideal.hit_tokens);
  }
  for (uint32_t p = 0; p < kBlockPolicyCount; ++p) {
    const auto policy = static_cast<BlockPolicy>(p);
    const auto result = ReplayBlocks(trace, {.policy = policy, .blocks = 3});
    WEIR_CHECK(result.hit_tokens <= ideal.hit_tokens);
  }
}

template <class Read>
void TryReader(Read read) {
  TraceBuilder builder("trace", 64);
  const Result<void> result = read(builder);
  if (result) return CheckTrace(std::move(builder).Build());
  WEIR_CHECK(result.error().code == ErrorCode::kCorrupt);
  WEIR_CHECK(result.error().message.starts_with("file: "));
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t byte_count) {
  using namespace weir;
  const std::string_view text(reinterpret_cast<const char*>(data), byte_count);
  (void)SniffTraceFormat(text);
  TryReader([&](TraceBuilder& builder) { return AddMooncakeLines(text, "file", builder); });
  TryReader([&](TraceBuilder& builder) { return AddAgentTextLines(text, "file", builder); });
  TryReader(
      [&](TraceBuilder& builder) { return AddClaudeCodeSession(text, "file", 0, 1.0, builder); });
  return 0;
}
