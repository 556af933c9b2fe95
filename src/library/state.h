// What the handles of include/weir/ stand for.
//
// Each state holds on to those it needs, so that a caller may drop its handles in any order: the
// pools live until the last tile, the trie until the last pin.
//
// Ownership: shared by handles. Threads: the caller's one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "kv/kv_cache.h"
#include "prefix/cached_sequence.h"
#include "prefix/prefix_trie.h"
#include "weir/pools.h"
#include "weir/prefix_cache.h"
#include "weir/sequence.h"

namespace weir::kv {

[[nodiscard]] KvLayer ToInternal(Layer layer);
[[nodiscard]] KvLayout ToInternal(const Layout& layout);
[[nodiscard]] Error ToError(const weir::Error& error);
// `buffer` is what the result points to.
[[nodiscard]] std::span<const TokenId> ToTokenIds(std::span<const Token> tokens,
                                                  std::vector<TokenId>& buffer);

struct Pools::State {
  State(const Layout& shape, const Budget& budget, uint32_t max_chunk_tokens)
      : layout(shape),
        cache(ToInternal(shape),
              {.full_bytes = budget.full_bytes, .window_bytes = budget.window_bytes},
              max_chunk_tokens) {}

  Layout layout;
  KvCache cache;
};

struct PrefixCache::State {
  State(std::shared_ptr<Pools::State> shared_pools, const PrefixTrieOptions& options)
      : pools(std::move(shared_pools)), trie(pools->cache, options) {}

  std::shared_ptr<Pools::State> pools;
  PrefixTrie trie;
  ReuseRules rules;
  // Buffers of lookups.
  std::vector<TokenId> tokens;
  weir::PrefixMatch match;
};

struct SequenceState {
  SequenceState(std::shared_ptr<PrefixCache::State> shared_prefix, std::string_view name_space)
      : prefix(std::move(shared_prefix)),
        sequence(prefix->trie, prefix->pools->cache, prefix->rules, name_space) {}

  std::shared_ptr<PrefixCache::State> prefix;
  CachedSequence sequence;
  Sources sources;
  uint64_t known_tokens = 0;  // prompt and appended
  bool has_lost_rows = false;

  std::optional<KvChunk> chunk;      // the open one
  std::vector<uint8_t> is_ended[2];  // of the chunk, by group and layer
  std::vector<TilePlanes> planes;    // what Tiles() returned last

  [[nodiscard]] const LayerGroup& GroupOf(Layer layer) const;
  // Requires a layer of the layout that the open chunk has not ended.
  void CheckLayer(Layer layer) const;
  void DropChunk();
};

}  // namespace weir::kv
