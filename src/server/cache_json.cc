#include "server/cache_json.h"

#include <array>

namespace weir {
namespace {

constexpr std::array<const char*, kResumeClassCount> kResumeClasses = {"periodic", "superseded",
                                                                       "branch", "newest"};

Json PoolJson(const PoolReport& pool) {
  return {{"name", pool.name},
          {"tile_bytes", pool.tile_bytes},
          {"tiles", pool.tiles},
          {"tiles_used", pool.tiles_used},
          {"tiles_live", pool.tiles_live},
          {"bytes", pool.tiles * pool.tile_bytes},
          {"bytes_used", pool.tiles_used * pool.tile_bytes}};
}

Json TrieJson(const PrefixTrieStats& trie) {
  return {{"nodes", trie.nodes},
          {"tails", trie.tails},
          {"tombstones", trie.tombstones},
          {"pinned", trie.pinned},
          {"interior_windows", trie.interior_windows},
          {"inserted", trie.inserted},
          {"duplicates_freed", trie.duplicates_freed},
          {"tombstones_healed", trie.tombstones_healed},
          {"collisions", trie.collisions},
          {"evicted_nodes", trie.evicted_nodes},
          {"evicted_windows", trie.evicted_windows},
          {"evicted_owed", trie.evicted_owed}};
}

Json ResumePointsJson(const PrefixTrieStats& trie) {
  Json out = {{"total", trie.resume_points}};
  for (size_t i = 0; i < kResumeClassCount; ++i) {
    out[kResumeClasses[i]] = trie.resume_points_by_class[i];
  }
  return out;
}

}  // namespace

Json CacheJson(const CacheReport& report) {
  Json pools = Json::array();
  for (const PoolReport& pool : report.pools) pools.push_back(PoolJson(pool));
  Json conversations = Json::array();
  for (const ConversationReport& conversation : report.conversations) {
    conversations.push_back({{"tokens", conversation.tokens}});
  }
  return {{"pools", std::move(pools)},
          {"trie", TrieJson(report.trie)},
          {"resume_points", ResumePointsJson(report.trie)},
          {"conversations", std::move(conversations)}};
}

}  // namespace weir
