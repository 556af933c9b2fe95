// Rows that arrive as floats. Apart from the rest because it alone needs the formats of quant/:
// engines that lay out their rows themselves link without it.
#include "base/check.h"
#include "kv/sequence_state.h"
#include "kv/sequence_view.h"

namespace weir {

void SequenceState::Write(KvLayer layer, uint32_t position, std::span<const float> keys,
                          std::span<const float> values) {
  WEIR_DCHECK(open_ && begin_ <= position && position < end_);
  const KvGroup& group = GroupOf(layer);
  const bool is_full = layer.group == KvGroupKind::kFull;
  const KvFormat format = is_full && owed_ ? KvFormat::kF16 : group.format;
  const RowPlanes rows = RowsOf(layer, position / kTileTokens);
  if (position < rows.begin) return;  // replayed: the rows are there
  const uint32_t slot = position % kTileTokens;
  WriteKeyRow(format, keys, group.kv_heads, group.k_dim, slot, rows.keys);
  WriteValueRow(format, values, group.kv_heads, group.v_dim, slot, rows.values);
}

void KvChunk::Write(KvLayer layer, uint32_t position, std::span<const float> keys,
                    std::span<const float> values) {
  state_->Write(layer, position, keys, values);
}

}  // namespace weir
