// Which path means what, and which methods it takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class Route : uint8_t {
  kChatCompletions,
  kCompletions,
  kTokenize,
  kDetokenize,
  kModels,
  kModel,  // of one name
  kHealth,
  kMetrics,
  kCache,
  kCacheFlush,
  kUnknown,
};

struct Target {
  Route route = Route::kUnknown;
  std::string name;  // kModel: percent-decoded
};

// `target` as in the request line: a path or a whole URI; host and query are ignored.
[[nodiscard]] Target FindTarget(std::string_view target);

// POST, or GET and HEAD; OPTIONS always.
[[nodiscard]] bool TakesBody(Route route);
// Shows or changes what belongs to several users.
[[nodiscard]] bool IsForAdmin(Route route);
// For the Allow header.
[[nodiscard]] std::string_view AllowedMethods(Route route);

}  // namespace weir
