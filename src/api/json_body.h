// A request body as a JSON object, or what is wrong with it.
//
// Strict RFC 8259 and UTF-8. Bounded against hostile input: nesting, members of one object; time
// and memory are linear in the bytes. A key that comes twice in an object is refused.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/api_error.h"

namespace weir {

using Json = nlohmann::ordered_json;

inline constexpr size_t kJsonDepthMax = 200;
inline constexpr size_t kJsonMembersMax = 65536;

[[nodiscard]] ApiResult<Json> ParseJson(std::string_view text);
// 400 too if it is JSON but no object.
[[nodiscard]] ApiResult<Json> ParseJsonObject(std::string_view body);

// Text for the wire; text that came from elsewhere and is not UTF-8 is replaced, never thrown on.
[[nodiscard]] std::string DumpJson(const Json& json);

}  // namespace weir
