// The objects that answers are made of: OpenAI's names and places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/json_body.h"
#include "engine/engine.h"

namespace weir {

enum class AnswerKind : uint8_t { kCompletion, kChat };

// What every object of one answer repeats.
struct AnswerHead {
  AnswerKind kind = AnswerKind::kCompletion;
  std::string id;
  int64_t created = 0;  // seconds since 1970
  std::string model;
};

struct Usage {
  uint64_t prompt_tokens = 0;
  uint64_t completion_tokens = 0;
  TokenSources prompt_sources = {};  // sums to prompt_tokens once the prompt has been read
};

[[nodiscard]] std::string_view FinishName(FinishReason reason);

// A choice of a whole answer. `logprobs` may be null.
[[nodiscard]] Json PlainChoice(AnswerKind kind, uint32_t index, const std::string& text,
                               Json logprobs, FinishReason reason);
// The whole answer at once: `choices` is a list of PlainChoice().
[[nodiscard]] Json PlainAnswer(const AnswerHead& head, Json choices, const Usage& usage);

// Chunks of a stream, in this order: for a chat the role; text; the end, each of the choice with
// this index; at last usage if asked for.
[[nodiscard]] Json RoleChunk(const AnswerHead& head, uint32_t index);
[[nodiscard]] Json TextChunk(const AnswerHead& head, uint32_t index, const std::string& text,
                             Json logprobs);
[[nodiscard]] Json EndChunk(const AnswerHead& head, uint32_t index, FinishReason reason);
[[nodiscard]] Json UsageChunk(const AnswerHead& head, const Usage& usage);

// One server-sent event. JSON text holds no line ends, so one data line is enough.
[[nodiscard]] std::string SseFrame(std::string_view data);
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";

}  // namespace weir
