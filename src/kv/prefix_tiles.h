// Tiles that a sequence starts from: counted references to what another sequence has computed.
//
// Pure values. Threads: the engine thread.
#pragma once

#include <cstdint>
#include <vector>

#include "kv/tile_pool.h"

namespace weir {

// The tiles of one position range of a sequence in each pool; a reference is empty where the pool
// does not exist or the tile is not kept.
struct NodeTiles {
  TileRef full;
  TileRef window;
  TileRef owed;
};

// How many tiles of each pool something takes.
struct TileNeed {
  uint32_t full = 0;
  uint32_t window = 0;
  uint32_t owed = 0;
};

// tiles[i] holds positions [128 i, 128 i + 128) below `position`. All full tiles are there; window
// and owed tiles are there where decoding from `position` needs them, unless the caller is going to
// replay.
struct PrefixTiles {
  uint32_t position = 0;
  std::vector<NodeTiles> tiles;
};

}  // namespace weir
