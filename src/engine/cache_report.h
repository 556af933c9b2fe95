// What the prefix cache holds at one moment, for people and dashboards.
//
// Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "prefix/prefix_trie.h"

namespace weir {

struct PoolReport {
  std::string name;  // "full", "window", "owed"
  uint64_t tile_bytes = 0;
  uint64_t tiles = 0;
  uint64_t tiles_used = 0;
  uint64_t tiles_live =
      0;  // of these, referred to by running sequences; shared ones may count oftener
};

// A leaf of the trie: where a conversation would go on.
struct ConversationReport {
  uint32_t tokens = 0;
};

struct CacheReport {
  std::vector<PoolReport> pools;
  PrefixTrieStats trie;
  std::vector<ConversationReport> conversations;  // warmest first, at most 100
};

}  // namespace weir
