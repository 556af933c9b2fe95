// POST /tokenize and /detokenize: text to token ids and back, for tools.
//
// Field names of llama.cpp ({"content"} -> {"tokens"}, {"tokens"} -> {"content"}) and of vLLM
// ({"prompt"} -> {"tokens", "count", "max_model_len"}, {"tokens"} -> {"prompt"}).
#pragma once

#include <string_view>

#include "api/api_error.h"
#include "api/json_body.h"
#include "api/request.h"
#include "text/tokenizer.h"

namespace weir {

inline constexpr size_t kTokenizeBytesMax = size_t{2} << 20;

[[nodiscard]] ApiResult<Json> Tokenize(std::string_view body, const Tokenizer& tokenizer,
                                       const ServedModel& model);
[[nodiscard]] ApiResult<Json> Detokenize(std::string_view body, const Tokenizer& tokenizer,
                                         const ServedModel& model);

}  // namespace weir
