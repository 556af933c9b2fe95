// Intel's tile unit (AMX), which multiplies 16 x 64 by 64 x 16 bytes to exact integers.
#pragma once

#include <cstdint>

namespace weir {

// The operand of ldtilecfg. Keep those static: GCC 12 believes that the instruction reads eight
// bytes, and drops what a local had besides.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};  // by tile, of which there are 8
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

// Asks the system to let this process use it, and tries it once: a virtual machine may announce the
// unit and fault on its use. Any thread may use it afterwards. Not safe against a concurrent change
// of the SIGILL handler; called once, before threads start (ChosenIsa() does).
[[nodiscard]] bool EnableAmx();

}  // namespace weir
