// Which window tiles a chunk keeps, drops and gains: arithmetic on positions, nothing else. The
// 16-bit rows that a per-tile-coded full group owes follow the same arithmetic with a rule of their
// own.
//
// For the next position p, the live tiles are those that hold a row of [p-W+1, p-1]: what the next
// query sees besides itself. A tile leaves when its last position is <= p-W.
//
//   W = 200, chunk [300, 900):   tile      0   1   2   3   4   5   6   7
//                                before   [0   1   2]                       rows 101..299
//                                after                        [5   6   7]   rows 701..899
//                                scratch              [3   4   5   6   7]   rows 384..899
//
// The chunk's rows in a tile of `before` go to its slot (here tile 2); those beyond go to scratch.
// Tiles 0, 1 and 2 leave, and 5, 6 and 7 enter in their slots.
//
// Pure values, any thread.
#pragma once

#include <cstdint>

namespace weir {

struct TileRange {  // tiles [first, end)
  uint32_t first = 0;
  uint32_t end = 0;

  [[nodiscard]] uint32_t count() const { return end - first; }
  [[nodiscard]] bool Contains(uint32_t tile) const { return first <= tile && tile < end; }
};

struct WindowPlan {
  TileRange before;   // live at the chunk's begin
  TileRange after;    // live at its end
  TileRange scratch;  // hold rows of the chunk and were not live before; contains all that enter

  [[nodiscard]] TileRange leaving() const;   // in `before`, not in `after`
  [[nodiscard]] TileRange staying() const;   // in both
  [[nodiscard]] TileRange entering() const;  // in `after`, not in `before`
};

// Requires window >= 1.
[[nodiscard]] TileRange LiveWindowTiles(uint32_t window, uint32_t next_position);
// Tiles floor(p/128) - residual .. ceil(p/128) - 1.
[[nodiscard]] TileRange LiveOwedTiles(uint32_t residual, uint32_t next_position);

// What a sequence keeps of its newest rows.
struct RecentRule {
  enum class Kind : uint8_t { kWindow, kOwed };
  Kind kind = Kind::kWindow;
  uint32_t reach = 1;  // W in tokens, or the residual in tiles

  // Tiles that decoding from `next_position` reads, when rows before `origin` do not exist.
  [[nodiscard]] TileRange Live(uint32_t next_position, uint32_t origin = 0) const;
};

// Requires origin <= begin < end.
[[nodiscard]] WindowPlan PlanChunk(const RecentRule& rule, uint32_t begin, uint32_t end,
                                   uint32_t origin = 0);

}  // namespace weir
