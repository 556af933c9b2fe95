// Lists of token ids in requests.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/json_body.h"
#include "base/ids.h"

namespace weir {

// Every entry a whole number in [0, vocab_size); the list may be empty.
[[nodiscard]] ApiResult<std::vector<TokenId>> ReadTokenList(const Json& list,
                                                            std::string_view field,
                                                            uint32_t vocab_size);

}  // namespace weir
