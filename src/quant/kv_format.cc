// What kv/ needs to know of a format when others lay out the rows: no vector code here.
#include "quant/kv_tile.h"

namespace weir {

std::string_view NameOf(KvFormat format) {
  constexpr std::string_view kNames[] = {"f16", "f32", "opaque"};
  return kNames[static_cast<size_t>(format)];
}

uint64_t PlaneBytes(KvFormat format, uint32_t heads, uint32_t dim) {
  constexpr uint64_t kElementBytes[] = {sizeof(uint16_t), sizeof(float), 1};
  return uint64_t{heads} * dim * kTileTokens * kElementBytes[static_cast<size_t>(format)];
}

}  // namespace weir
