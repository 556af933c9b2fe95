#include "prefix/resume_position.h"

#include "base/check.h"
#include "quant/kv_tile.h"

namespace weir {
namespace {

constexpr uint32_t CeilTiles(uint32_t tokens) {
  return tokens / kTileTokens + (tokens % kTileTokens != 0 ? 1 : 0);
}

// The gaps in one kind of tile along a path. Asked with falling ends, all questions together walk
// the path once.
class Gaps {
 public:
  Gaps(std::span<const PathTile> path, bool PathTile::*has) : path_(path), has_(has) {}

  // Whether every tile of `range` is there. Requires range.end not above the one asked before.
  [[nodiscard]] bool AllPresent(TileRange range) {
    if (range.count() == 0) return true;
    if (above_gap_ > range.end || !found_) {
      found_ = true;
      above_gap_ = range.end;
      while (above_gap_ > 0 && path_[above_gap_ - 1].*has_) --above_gap_;
    }
    return above_gap_ <= range.first;
  }

 private:
  std::span<const PathTile> path_;
  bool PathTile::*has_;
  bool found_ = false;
  uint32_t above_gap_ = 0;  // one past the highest gap below the last range's end; 0: no gap
};

// Asked with falling positions.
class Conditions {
 public:
  Conditions(std::span<const PathTile> path, const ResumeNeeds& needs)
      : needs_(needs), windows_(path, &PathTile::has_window), owed_(path, &PathTile::has_owed) {}

  [[nodiscard]] ResumeVeto VetoAt(uint32_t position) {
    if (needs_.window > 0 && !windows_.AllPresent(LiveWindowTiles(needs_.window, position))) {
      return ResumeVeto::kWindow;
    }
    if (needs_.owes_rows && !owed_.AllPresent(LiveOwedTiles(needs_.residual, position))) {
      return ResumeVeto::kOwedRows;
    }
    return ResumeVeto::kNone;
  }

 private:
  ResumeNeeds needs_;
  Gaps windows_;
  Gaps owed_;
};

}  // namespace

// In one tile the longest position asks least of the tiles before, so it is the tile's only
// candidate. (The tile's first position may ask less: it is the candidate of the tile before.)
uint32_t ResumePosition(std::span<const PathTile> path, uint32_t limit, const ResumeNeeds& needs) {
  WEIR_CHECK(CeilTiles(limit) <= path.size());
  Conditions conditions(path, needs);
  uint32_t position = limit;
  while (position > 0 && conditions.VetoAt(position) != ResumeVeto::kNone) {
    position = (position - 1) / kTileTokens * kTileTokens;
  }
  return position;
}

ResumeVeto VetoAt(std::span<const PathTile> path, uint32_t limit, const ResumeNeeds& needs) {
  WEIR_CHECK(CeilTiles(limit) <= path.size());
  return Conditions(path, needs).VetoAt(limit);
}

}  // namespace weir
