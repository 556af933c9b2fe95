// Integers that cannot be swapped for one another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace weir {

template <class Tag, class Value = uint32_t>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(Value value) : value_(value) {}
  [[nodiscard]] constexpr Value value() const { return value_; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  Value value_ = 0;
};

using TokenId = Id<struct TokenTag, int32_t>;
using TileId = Id<struct TileTag>;  // slot of a pool; 0 is "none"
using RequestId = Id<struct RequestTag, uint64_t>;

}  // namespace weir

template <class Tag, class Value>
struct std::hash<weir::Id<Tag, Value>> {
  size_t operator()(weir::Id<Tag, Value> id) const noexcept {
    return std::hash<Value>{}(id.value());
  }
};
