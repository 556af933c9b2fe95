// Every prefix whose KV is kept: a trie of whole tiles, with tails of 1..127 tokens as leaves.
//
// Sequences (sequence.h) fill it and begin from it; the calls here look, hold and free. A prefix is
// there if its full tiles are; its window tiles are evicted on their own, so decoding may resume
// only where the last W-1 rows are still kept: at resume points (starts of messages, ends of
// prompts and answers, places where prompts parted) and, while memory is free, everywhere.
//
// Equal fingerprint, name space and tokens must mean equal bytes (checked where the library is
// built without NDEBUG). Hashes only find; tokens are compared. Lookups change nothing.
//
// Ownership, threads: as Pools.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/expected.h"
#include "weir/pools.h"

namespace weir::kv {

using Token = int32_t;

struct PrefixOptions {
  // Of the model and of everything that can change a bit of its KV: weights, kernels, format.
  std::string fingerprint = {};
  // Hides which tokens a hash stands for. Empty: random; else at least 136 bytes.
  std::vector<std::byte> secret = {};
  // The model's layers from the bottom, each once. With them lost windows can be rebuilt from full
  // tiles (replay), which takes the more tokens the more window layers there are. Empty: never.
  std::vector<Layer> layers = {};
  // Distance of resume points inside long prompts; 0: none. Absent: where a kept window saves as
  // much prefill per byte as full tiles do.
  std::optional<uint32_t> checkpoint_tokens = std::nullopt;
};

// What is there of a prompt. The prompt's last token never counts: it must be computed.
struct PrefixMatch {
  uint32_t full_length = 0;  // tokens whose full tiles are there
  uint32_t safe_length =
      0;  // of these, from where decoding may resume at once (window-safe length)
};

struct TileCount {
  uint32_t full = 0;
  uint32_t window = 0;
};

// What a kept position is. How soon each class is used again is learned: none always leaves first.
enum class ResumeClass : uint8_t {
  kPeriodic,    // inside a prompt
  kSuperseded,  // a conversation went on from here
  kBranch,      // two prompts parted here
  kNewest,      // the newest of a conversation
};

struct PrefixStats {
  uint64_t nodes = 0;  // tiles and tails
  uint64_t tails = 0;
  uint64_t tombstones = 0;                  // nodes that have lost their window tile
  uint64_t pins = 0;                        // held now, those of sequences included
  std::array<uint64_t, 4> resume_points{};  // by ResumeClass
  uint64_t interior_windows = 0;            // window tiles that no resume point needs
  // Since the start.
  uint64_t inserted_nodes = 0;
  uint64_t evicted_nodes = 0;
  uint64_t evicted_windows = 0;  // tiles
};

// Keeps the full tiles of a prefix from eviction as long as it lives; its windows may still go.
// (After a flush it keeps only their memory.)
class Pin {
 public:
  Pin(Pin&& other) noexcept;
  Pin& operator=(Pin&& other) noexcept;
  ~Pin();

  [[nodiscard]] uint32_t token_count() const;  // tokens it keeps

 private:
  friend class PrefixCache;
  struct State;
  explicit Pin(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class PrefixCache {
 public:
  // Fails when the secret is short or the layers are not those of the pools' layout.
  [[nodiscard]] static Expected<PrefixCache> Create(const Pools& pools, PrefixOptions options);

  // Prompts of different name spaces share nothing and cannot find each other. An empty prompt
  // matches nothing.
  [[nodiscard]] PrefixMatch Match(std::string_view name_space, std::span<const Token> prompt) const;

  // Pins what is there of `tokens`, all of which may count.
  [[nodiscard]] Pin PinPrefix(std::string_view name_space, std::span<const Token> tokens);

  // Evicts until `count` tiles of each pool are free, coldest first. False if that much cannot be
  // freed; what could be is free then. Sequences do this on their own when they need room.
  bool MakeRoom(const TileCount& count);

  // Forgets everything, as when the model changes: no later match finds what is there now. Returns
  // how many nodes that were. Sequences that are running go on, and publish nothing any more.
  uint64_t Flush();

  // Tokens of the conversations that are kept (leaves of the trie), the most recently used first.
  [[nodiscard]] std::vector<uint32_t> ConversationLengths(size_t limit) const;
  [[nodiscard]] PrefixStats stats() const;

  struct State;  // private to the library

 private:
  friend class Sequence;
  explicit PrefixCache(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace weir::kv
