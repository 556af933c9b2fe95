// Readers of four public trace formats (../shared/traces names them and their licences).
//
// Each adds the requests of one file's bytes to a builder. Bytes come from outside: what breaks the
// format is kCorrupt, with the file and the line or request; the builder is then not to be used.
// `path` only names the file. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "sim/trace.h"

namespace weir {

inline constexpr uint32_t kMooncakeBlockTokens = 512;
inline constexpr uint32_t kClaudeCodeBlockTokens = 64;
inline constexpr uint32_t kAgentTextBlockTokens = 16;
inline constexpr uint32_t kAzureBlockTokens = 512;  // of none

// Mooncake: a JSON object a line, {timestamp in ms, input_length, hash_ids}; a hash id stands for
// a block of 512 tokens, the last of which may be cut.
Result<void> AddMooncakeLines(std::string_view text, std::string_view path, TraceBuilder& builder);

// kv-cache-tester: a Claude Code session a file. Hash ids of 64-token blocks mean something only
// inside their session, but the first (tool_tokens + system_tokens) / 64 blocks of its first
// request are taken to be the same in all sessions (or sub-agents) with the same two numbers.
// The session begins at `start_s`; `session` tells it from the builder's others.
Result<void> AddClaudeCodeSession(std::string_view text, std::string_view path, uint32_t session,
                                  double start_s, TraceBuilder& builder);

// lmcache-agent: a JSON object a line, {timestamp in us, input}. The prompt is text; 4 bytes are
// taken for a token, 64 bytes for a block.
Result<void> AddAgentTextLines(std::string_view text, std::string_view path, TraceBuilder& builder);

// Azure LLM inference 2023: lines TIMESTAMP,ContextTokens,GeneratedTokens after one with these
// names. Nothing is known of what prompts share, so there are no blocks. Time 0 is the first line.
Result<void> AddAzureLines(std::string_view text, std::string_view path, TraceBuilder& builder);

enum class TraceFormat : uint8_t { kUnknown, kMooncake, kClaudeCode, kAgentText, kAzure };
// By the members of the first JSON object, or the names of the columns.
[[nodiscard]] TraceFormat SniffTraceFormat(std::string_view text);

}  // namespace weir
