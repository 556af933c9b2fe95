#include "api/token_list.h"

#include <fmt/format.h>

#include "api/fields.h"

namespace weir {

ApiResult<std::vector<TokenId>> ReadTokenList(const Json& list, std::string_view field,
                                              uint32_t vocab_size) {
  const auto refuse = [&](const std::string& why) {
    return tl::make_unexpected(InvalidField(std::string(field), fmt::format("{}: {}", field, why)));
  };
  if (!list.is_array()) {
    return refuse(fmt::format("must be text or a list of token ids, and is {}", KindOf(list)));
  }
  std::vector<TokenId> out;
  out.reserve(list.size());
  for (const Json& id : list) {
    if (!id.is_number_integer()) {
      return refuse(fmt::format("entry {} must be a token id, and is {}", out.size(),
                                id.is_number() ? "no whole number of 64 bits" : KindOf(id)));
    }
    const bool negative = !id.is_number_unsigned() && id.get<int64_t>() < 0;
    if (negative || id.get<uint64_t>() >= vocab_size) {
      return refuse(fmt::format("entry {} is {}; token ids are from 0 to {}", out.size(), id.dump(),
                                vocab_size - 1));
    }
    out.emplace_back(static_cast<int32_t>(id.get<uint64_t>()));
  }
  return out;
}

}  // namespace weir
