// The fields that both kinds of completion request share.
#pragma once

#include <cstdint>

#include "api/fields.h"
#include "api/request.h"

namespace weir {

inline constexpr size_t kStopStringsMax = 64;
inline constexpr size_t kStopStringBytesMax = 1024;
inline constexpr uint32_t kTopLogprobsMax = 20;
inline constexpr size_t kCacheSaltBytesMax = 256;
inline constexpr uint32_t kChoicesMax = 16;

// Reads all but logprobs, whose shape differs by path. Errors are left in `fields`.
[[nodiscard]] AnswerOptions ReadAnswerOptions(Fields& fields, const ServedModel& model,
                                              uint64_t default_max_tokens, uint64_t random_seed);

// Refuses what would change the answer and is not built.
void RefuseUnbuilt(Fields& fields);

}  // namespace weir
