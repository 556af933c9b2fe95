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

// A byte of text may be a token, a token may be a long text: these keep a reply to tens of MB.
inline constexpr size_t kTokenizeBytesMax = size_t{2} << 20;
inline constexpr size_t kPiecesBytesMax = size_t{256} << 10;  // of a text whose pieces are wanted
inline constexpr size_t kDetokenizeTokensMax = size_t{256} << 10;

[[nodiscard]] ApiResult<Json> Tokenize(std::string_view body, const Tokenizer& tokenizer,
                                       const ServedModel& model);
[[nodiscard]] ApiResult<Json> Detokenize(std::string_view body, const Tokenizer& tokenizer,
                                         const ServedModel& model);

}  // namespace weir
